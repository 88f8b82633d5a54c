from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AnswerForm(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANSWER_FORM_UNSPECIFIED: _ClassVar[AnswerForm]
    ANSWER_FORM_HISTOGRAM: _ClassVar[AnswerForm]
    ANSWER_FORM_RECORD_WISE: _ClassVar[AnswerForm]
ANSWER_FORM_UNSPECIFIED: AnswerForm
ANSWER_FORM_HISTOGRAM: AnswerForm
ANSWER_FORM_RECORD_WISE: AnswerForm

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PartyDescription(_message.Message):
    __slots__ = ("name", "protocol_version", "software_version", "domain_json", "record_count", "protocols")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_VERSION_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_JSON_FIELD_NUMBER: _ClassVar[int]
    RECORD_COUNT_FIELD_NUMBER: _ClassVar[int]
    PROTOCOLS_FIELD_NUMBER: _ClassVar[int]
    name: str
    protocol_version: int
    software_version: str
    domain_json: str
    record_count: int
    protocols: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., protocol_version: _Optional[int] = ..., software_version: _Optional[str] = ..., domain_json: _Optional[str] = ..., record_count: _Optional[int] = ..., protocols: _Optional[_Iterable[str]] = ...) -> None: ...

class ReleaseTerms(_message.Message):
    __slots__ = ("release_id", "protocol_version", "protocol", "adjacency", "granted_rho")
    RELEASE_ID_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    GRANTED_RHO_FIELD_NUMBER: _ClassVar[int]
    release_id: str
    protocol_version: int
    protocol: str
    adjacency: str
    granted_rho: float
    def __init__(self, release_id: _Optional[str] = ..., protocol_version: _Optional[int] = ..., protocol: _Optional[str] = ..., adjacency: _Optional[str] = ..., granted_rho: _Optional[float] = ...) -> None: ...

class Acceptance(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class MarginalQuery(_message.Message):
    __slots__ = ("release_id", "query_id", "form", "clique", "sigma")
    RELEASE_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    CLIQUE_FIELD_NUMBER: _ClassVar[int]
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    release_id: str
    query_id: str
    form: AnswerForm
    clique: _containers.RepeatedScalarFieldContainer[str]
    sigma: float
    def __init__(self, release_id: _Optional[str] = ..., query_id: _Optional[str] = ..., form: _Optional[_Union[AnswerForm, str]] = ..., clique: _Optional[_Iterable[str]] = ..., sigma: _Optional[float] = ...) -> None: ...

class AnswerFrame(_message.Message):
    __slots__ = ("payload", "word_bytes", "last")
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    WORD_BYTES_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    payload: bytes
    word_bytes: int
    last: bool
    def __init__(self, payload: _Optional[bytes] = ..., word_bytes: _Optional[int] = ..., last: _Optional[bool] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("code", "message")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...
