from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DeliveryKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DELIVERY_KIND_UNSPECIFIED: _ClassVar[DeliveryKind]
    DELIVERY_KIND_OPENING: _ClassVar[DeliveryKind]
    DELIVERY_KIND_DEALT_ROWS: _ClassVar[DeliveryKind]
    DELIVERY_KIND_DEALT_PRODUCTS: _ClassVar[DeliveryKind]
    DELIVERY_KIND_SCORE_STEP: _ClassVar[DeliveryKind]
    DELIVERY_KIND_SCORE_REFERENCES: _ClassVar[DeliveryKind]
    DELIVERY_KIND_RECORD_ORDER: _ClassVar[DeliveryKind]
    DELIVERY_KIND_PROOF: _ClassVar[DeliveryKind]
    DELIVERY_KIND_ATTESTATION: _ClassVar[DeliveryKind]
    DELIVERY_KIND_ALIGNMENT_KEY: _ClassVar[DeliveryKind]
    DELIVERY_KIND_POSITIONS: _ClassVar[DeliveryKind]
    DELIVERY_KIND_ALIGNMENT_POINTS: _ClassVar[DeliveryKind]
    DELIVERY_KIND_MASK_SEEDS: _ClassVar[DeliveryKind]
    DELIVERY_KIND_DEALT_CHECK: _ClassVar[DeliveryKind]
    DELIVERY_KIND_CHECK: _ClassVar[DeliveryKind]
    DELIVERY_KIND_COINS: _ClassVar[DeliveryKind]
    DELIVERY_KIND_KEY_POINTS: _ClassVar[DeliveryKind]

class AnswerForm(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANSWER_FORM_UNSPECIFIED: _ClassVar[AnswerForm]
    ANSWER_FORM_HISTOGRAM: _ClassVar[AnswerForm]
    ANSWER_FORM_RECORD_WISE: _ClassVar[AnswerForm]
    ANSWER_FORM_SHARE: _ClassVar[AnswerForm]
    ANSWER_FORM_LABELS: _ClassVar[AnswerForm]
DELIVERY_KIND_UNSPECIFIED: DeliveryKind
DELIVERY_KIND_OPENING: DeliveryKind
DELIVERY_KIND_DEALT_ROWS: DeliveryKind
DELIVERY_KIND_DEALT_PRODUCTS: DeliveryKind
DELIVERY_KIND_SCORE_STEP: DeliveryKind
DELIVERY_KIND_SCORE_REFERENCES: DeliveryKind
DELIVERY_KIND_RECORD_ORDER: DeliveryKind
DELIVERY_KIND_PROOF: DeliveryKind
DELIVERY_KIND_ATTESTATION: DeliveryKind
DELIVERY_KIND_ALIGNMENT_KEY: DeliveryKind
DELIVERY_KIND_POSITIONS: DeliveryKind
DELIVERY_KIND_ALIGNMENT_POINTS: DeliveryKind
DELIVERY_KIND_MASK_SEEDS: DeliveryKind
DELIVERY_KIND_DEALT_CHECK: DeliveryKind
DELIVERY_KIND_CHECK: DeliveryKind
DELIVERY_KIND_COINS: DeliveryKind
DELIVERY_KIND_KEY_POINTS: DeliveryKind
ANSWER_FORM_UNSPECIFIED: AnswerForm
ANSWER_FORM_HISTOGRAM: AnswerForm
ANSWER_FORM_RECORD_WISE: AnswerForm
ANSWER_FORM_SHARE: AnswerForm
ANSWER_FORM_LABELS: AnswerForm

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PartyDescription(_message.Message):
    __slots__ = ("name", "protocol_version", "software_version", "domain", "record_count", "protocols", "identity", "alignments", "identifiers", "max_cells", "sends_to", "takes_from", "newest_protocol")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_VERSION_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    RECORD_COUNT_FIELD_NUMBER: _ClassVar[int]
    PROTOCOLS_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    ALIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    IDENTIFIERS_FIELD_NUMBER: _ClassVar[int]
    MAX_CELLS_FIELD_NUMBER: _ClassVar[int]
    SENDS_TO_FIELD_NUMBER: _ClassVar[int]
    TAKES_FROM_FIELD_NUMBER: _ClassVar[int]
    NEWEST_PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    name: str
    protocol_version: int
    software_version: str
    domain: str
    record_count: int
    protocols: _containers.RepeatedScalarFieldContainer[str]
    identity: bytes
    alignments: _containers.RepeatedScalarFieldContainer[str]
    identifiers: _containers.RepeatedScalarFieldContainer[str]
    max_cells: int
    sends_to: _containers.RepeatedScalarFieldContainer[str]
    takes_from: _containers.RepeatedScalarFieldContainer[str]
    newest_protocol: int
    def __init__(self, name: _Optional[str] = ..., protocol_version: _Optional[int] = ..., software_version: _Optional[str] = ..., domain: _Optional[str] = ..., record_count: _Optional[int] = ..., protocols: _Optional[_Iterable[str]] = ..., identity: _Optional[bytes] = ..., alignments: _Optional[_Iterable[str]] = ..., identifiers: _Optional[_Iterable[str]] = ..., max_cells: _Optional[int] = ..., sends_to: _Optional[_Iterable[str]] = ..., takes_from: _Optional[_Iterable[str]] = ..., newest_protocol: _Optional[int] = ...) -> None: ...

class Verdict(_message.Message):
    __slots__ = ("refusals", "by_hand")
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    BY_HAND_FIELD_NUMBER: _ClassVar[int]
    refusals: _containers.RepeatedCompositeFieldContainer[Refusal]
    by_hand: bool
    def __init__(self, refusals: _Optional[_Iterable[_Union[Refusal, _Mapping]]] = ..., by_hand: _Optional[bool] = ...) -> None: ...

class ProbeFrame(_message.Message):
    __slots__ = ("wanted", "clock_us", "payload")
    WANTED_FIELD_NUMBER: _ClassVar[int]
    CLOCK_US_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    wanted: int
    clock_us: int
    payload: bytes
    def __init__(self, wanted: _Optional[int] = ..., clock_us: _Optional[int] = ..., payload: _Optional[bytes] = ...) -> None: ...

class SignedTerms(_message.Message):
    __slots__ = ("terms", "curator_signature", "seen")
    TERMS_FIELD_NUMBER: _ClassVar[int]
    CURATOR_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    SEEN_FIELD_NUMBER: _ClassVar[int]
    terms: bytes
    curator_signature: bytes
    seen: Mark
    def __init__(self, terms: _Optional[bytes] = ..., curator_signature: _Optional[bytes] = ..., seen: _Optional[_Union[Mark, _Mapping]] = ...) -> None: ...

class Acceptance(_message.Message):
    __slots__ = ("ephemeral", "signature", "mark")
    EPHEMERAL_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    MARK_FIELD_NUMBER: _ClassVar[int]
    ephemeral: bytes
    signature: bytes
    mark: Mark
    def __init__(self, ephemeral: _Optional[bytes] = ..., signature: _Optional[bytes] = ..., mark: _Optional[_Union[Mark, _Mapping]] = ...) -> None: ...

class Mark(_message.Message):
    __slots__ = ("events", "head")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    events: int
    head: bytes
    def __init__(self, events: _Optional[int] = ..., head: _Optional[bytes] = ...) -> None: ...

class Acknowledgement(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Introduction(_message.Message):
    __slots__ = ("release_id", "acceptances")
    RELEASE_ID_FIELD_NUMBER: _ClassVar[int]
    ACCEPTANCES_FIELD_NUMBER: _ClassVar[int]
    release_id: str
    acceptances: _containers.RepeatedCompositeFieldContainer[Acceptance]
    def __init__(self, release_id: _Optional[str] = ..., acceptances: _Optional[_Iterable[_Union[Acceptance, _Mapping]]] = ...) -> None: ...

class Part(_message.Message):
    __slots__ = ("attributes",)
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    attributes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, attributes: _Optional[_Iterable[str]] = ...) -> None: ...

class OpeningRequest(_message.Message):
    __slots__ = ("release_id", "chain", "recipient", "query_id", "step", "kind")
    RELEASE_ID_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    RECIPIENT_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    release_id: str
    chain: _containers.RepeatedCompositeFieldContainer[Part]
    recipient: int
    query_id: str
    step: int
    kind: DeliveryKind
    def __init__(self, release_id: _Optional[str] = ..., chain: _Optional[_Iterable[_Union[Part, _Mapping]]] = ..., recipient: _Optional[int] = ..., query_id: _Optional[str] = ..., step: _Optional[int] = ..., kind: _Optional[_Union[DeliveryKind, str]] = ...) -> None: ...

class PushRequest(_message.Message):
    __slots__ = ("opening", "recipient", "sender")
    OPENING_FIELD_NUMBER: _ClassVar[int]
    RECIPIENT_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    opening: OpeningRequest
    recipient: str
    sender: int
    def __init__(self, opening: _Optional[_Union[OpeningRequest, _Mapping]] = ..., recipient: _Optional[str] = ..., sender: _Optional[int] = ...) -> None: ...

class DealRequest(_message.Message):
    __slots__ = ("release_id", "kind", "recipient", "chains", "owner")
    RELEASE_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    RECIPIENT_FIELD_NUMBER: _ClassVar[int]
    CHAINS_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    release_id: str
    kind: DeliveryKind
    recipient: int
    chains: _containers.RepeatedCompositeFieldContainer[Chain]
    owner: int
    def __init__(self, release_id: _Optional[str] = ..., kind: _Optional[_Union[DeliveryKind, str]] = ..., recipient: _Optional[int] = ..., chains: _Optional[_Iterable[_Union[Chain, _Mapping]]] = ..., owner: _Optional[int] = ...) -> None: ...

class Delivery(_message.Message):
    __slots__ = ("release_id", "kind", "chain", "sender", "query_id", "step", "chains", "owner")
    RELEASE_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    CHAINS_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    release_id: str
    kind: DeliveryKind
    chain: _containers.RepeatedCompositeFieldContainer[Part]
    sender: int
    query_id: str
    step: int
    chains: _containers.RepeatedCompositeFieldContainer[Chain]
    owner: int
    def __init__(self, release_id: _Optional[str] = ..., kind: _Optional[_Union[DeliveryKind, str]] = ..., chain: _Optional[_Iterable[_Union[Part, _Mapping]]] = ..., sender: _Optional[int] = ..., query_id: _Optional[str] = ..., step: _Optional[int] = ..., chains: _Optional[_Iterable[_Union[Chain, _Mapping]]] = ..., owner: _Optional[int] = ...) -> None: ...

class DeliveryFrame(_message.Message):
    __slots__ = ("header", "payload")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    header: Delivery
    payload: bytes
    def __init__(self, header: _Optional[_Union[Delivery, _Mapping]] = ..., payload: _Optional[bytes] = ...) -> None: ...

class AlignRequest(_message.Message):
    __slots__ = ("release_id", "owner")
    RELEASE_ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    release_id: str
    owner: int
    def __init__(self, release_id: _Optional[str] = ..., owner: _Optional[int] = ...) -> None: ...

class MultiplyRequest(_message.Message):
    __slots__ = ("release_id", "chains")
    RELEASE_ID_FIELD_NUMBER: _ClassVar[int]
    CHAINS_FIELD_NUMBER: _ClassVar[int]
    release_id: str
    chains: _containers.RepeatedCompositeFieldContainer[Chain]
    def __init__(self, release_id: _Optional[str] = ..., chains: _Optional[_Iterable[_Union[Chain, _Mapping]]] = ...) -> None: ...

class Chain(_message.Message):
    __slots__ = ("parts",)
    PARTS_FIELD_NUMBER: _ClassVar[int]
    parts: _containers.RepeatedCompositeFieldContainer[Part]
    def __init__(self, parts: _Optional[_Iterable[_Union[Part, _Mapping]]] = ...) -> None: ...

class MarginalQuery(_message.Message):
    __slots__ = ("release_id", "query_id", "form", "view", "sigma", "other_sigmas")
    RELEASE_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    OTHER_SIGMAS_FIELD_NUMBER: _ClassVar[int]
    release_id: str
    query_id: str
    form: AnswerForm
    view: View
    sigma: float
    other_sigmas: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, release_id: _Optional[str] = ..., query_id: _Optional[str] = ..., form: _Optional[_Union[AnswerForm, str]] = ..., view: _Optional[_Union[View, _Mapping]] = ..., sigma: _Optional[float] = ..., other_sigmas: _Optional[_Iterable[float]] = ...) -> None: ...

class View(_message.Message):
    __slots__ = ("clique", "groups", "boxes", "interaction")
    CLIQUE_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    BOXES_FIELD_NUMBER: _ClassVar[int]
    INTERACTION_FIELD_NUMBER: _ClassVar[int]
    clique: _containers.RepeatedScalarFieldContainer[str]
    groups: _containers.RepeatedCompositeFieldContainer[Grouping]
    boxes: _containers.RepeatedCompositeFieldContainer[Box]
    interaction: bool
    def __init__(self, clique: _Optional[_Iterable[str]] = ..., groups: _Optional[_Iterable[_Union[Grouping, _Mapping]]] = ..., boxes: _Optional[_Iterable[_Union[Box, _Mapping]]] = ..., interaction: _Optional[bool] = ...) -> None: ...

class Grouping(_message.Message):
    __slots__ = ("labels",)
    LABELS_FIELD_NUMBER: _ClassVar[int]
    labels: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, labels: _Optional[_Iterable[int]] = ...) -> None: ...

class Box(_message.Message):
    __slots__ = ("ranges",)
    RANGES_FIELD_NUMBER: _ClassVar[int]
    ranges: _containers.RepeatedCompositeFieldContainer[Range]
    def __init__(self, ranges: _Optional[_Iterable[_Union[Range, _Mapping]]] = ...) -> None: ...

class Range(_message.Message):
    __slots__ = ("start", "stop")
    START_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    start: int
    stop: int
    def __init__(self, start: _Optional[int] = ..., stop: _Optional[int] = ...) -> None: ...

class Charged(_message.Message):
    __slots__ = ("signature",)
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    signature: bytes
    def __init__(self, signature: _Optional[bytes] = ...) -> None: ...

class AnswerRequest(_message.Message):
    __slots__ = ("query", "charges", "before")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    CHARGES_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    query: MarginalQuery
    charges: _containers.RepeatedScalarFieldContainer[bytes]
    before: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, query: _Optional[_Union[MarginalQuery, _Mapping]] = ..., charges: _Optional[_Iterable[bytes]] = ..., before: _Optional[_Iterable[int]] = ...) -> None: ...

class Remaining(_message.Message):
    __slots__ = ("release_id", "query", "before", "absent", "lost")
    RELEASE_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    ABSENT_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    release_id: str
    query: str
    before: _containers.RepeatedScalarFieldContainer[int]
    absent: _containers.RepeatedScalarFieldContainer[int]
    lost: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, release_id: _Optional[str] = ..., query: _Optional[str] = ..., before: _Optional[_Iterable[int]] = ..., absent: _Optional[_Iterable[int]] = ..., lost: _Optional[_Iterable[int]] = ...) -> None: ...

class Agreed(_message.Message):
    __slots__ = ("signature",)
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    signature: bytes
    def __init__(self, signature: _Optional[bytes] = ...) -> None: ...

class Unmasking(_message.Message):
    __slots__ = ("remaining", "signatures")
    REMAINING_FIELD_NUMBER: _ClassVar[int]
    SIGNATURES_FIELD_NUMBER: _ClassVar[int]
    remaining: Remaining
    signatures: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, remaining: _Optional[_Union[Remaining, _Mapping]] = ..., signatures: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Unmasked(_message.Message):
    __slots__ = ("own", "pairs", "shares")
    OWN_FIELD_NUMBER: _ClassVar[int]
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    SHARES_FIELD_NUMBER: _ClassVar[int]
    own: bytes
    pairs: _containers.RepeatedScalarFieldContainer[bytes]
    shares: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, own: _Optional[bytes] = ..., pairs: _Optional[_Iterable[bytes]] = ..., shares: _Optional[_Iterable[bytes]] = ...) -> None: ...

class ScoreQuery(_message.Message):
    __slots__ = ("release_id", "query_id", "views", "sigma", "references", "largest_reference", "largest_total")
    RELEASE_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    VIEWS_FIELD_NUMBER: _ClassVar[int]
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    REFERENCES_FIELD_NUMBER: _ClassVar[int]
    LARGEST_REFERENCE_FIELD_NUMBER: _ClassVar[int]
    LARGEST_TOTAL_FIELD_NUMBER: _ClassVar[int]
    release_id: str
    query_id: str
    views: _containers.RepeatedCompositeFieldContainer[View]
    sigma: float
    references: bytes
    largest_reference: int
    largest_total: int
    def __init__(self, release_id: _Optional[str] = ..., query_id: _Optional[str] = ..., views: _Optional[_Iterable[_Union[View, _Mapping]]] = ..., sigma: _Optional[float] = ..., references: _Optional[bytes] = ..., largest_reference: _Optional[int] = ..., largest_total: _Optional[int] = ...) -> None: ...

class AnswerFrame(_message.Message):
    __slots__ = ("payload", "word_bytes", "last")
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    WORD_BYTES_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    payload: bytes
    word_bytes: int
    last: bool
    def __init__(self, payload: _Optional[bytes] = ..., word_bytes: _Optional[int] = ..., last: _Optional[bool] = ...) -> None: ...

class Claim(_message.Message):
    __slots__ = ("release_id", "certificate", "zcdp_rho_spent")
    RELEASE_ID_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    ZCDP_RHO_SPENT_FIELD_NUMBER: _ClassVar[int]
    release_id: str
    certificate: bytes
    zcdp_rho_spent: float
    def __init__(self, release_id: _Optional[str] = ..., certificate: _Optional[bytes] = ..., zcdp_rho_spent: _Optional[float] = ...) -> None: ...

class Entry(_message.Message):
    __slots__ = ("query_id", "query", "zcdp_rho", "signature", "kind", "delta", "clique", "groups")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    ZCDP_RHO_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    CLIQUE_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    query: bytes
    zcdp_rho: str
    signature: bytes
    kind: str
    delta: str
    clique: _containers.RepeatedScalarFieldContainer[str]
    groups: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, query_id: _Optional[str] = ..., query: _Optional[bytes] = ..., zcdp_rho: _Optional[str] = ..., signature: _Optional[bytes] = ..., kind: _Optional[str] = ..., delta: _Optional[str] = ..., clique: _Optional[_Iterable[str]] = ..., groups: _Optional[_Iterable[int]] = ...) -> None: ...

class StatementFrame(_message.Message):
    __slots__ = ("entries", "signature", "mark")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    MARK_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[Entry]
    signature: bytes
    mark: Mark
    def __init__(self, entries: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ..., signature: _Optional[bytes] = ..., mark: _Optional[_Union[Mark, _Mapping]] = ...) -> None: ...

class AbandonRequest(_message.Message):
    __slots__ = ("release_id",)
    RELEASE_ID_FIELD_NUMBER: _ClassVar[int]
    release_id: str
    def __init__(self, release_id: _Optional[str] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("code", "message")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...
