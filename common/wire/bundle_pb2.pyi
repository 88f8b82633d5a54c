from . import party_pb2 as _party_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BundleHeader(_message.Message):
    __slots__ = ("sender", "recipient", "release_id", "number", "request", "ephemeral")
    SENDER_FIELD_NUMBER: _ClassVar[int]
    RECIPIENT_FIELD_NUMBER: _ClassVar[int]
    RELEASE_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    EPHEMERAL_FIELD_NUMBER: _ClassVar[int]
    sender: str
    recipient: str
    release_id: str
    number: int
    request: bytes
    ephemeral: bytes
    def __init__(self, sender: _Optional[str] = ..., recipient: _Optional[str] = ..., release_id: _Optional[str] = ..., number: _Optional[int] = ..., request: _Optional[bytes] = ..., ephemeral: _Optional[bytes] = ...) -> None: ...

class BundledCalls(_message.Message):
    __slots__ = ("calls",)
    CALLS_FIELD_NUMBER: _ClassVar[int]
    calls: _containers.RepeatedCompositeFieldContainer[BundledCall]
    def __init__(self, calls: _Optional[_Iterable[_Union[BundledCall, _Mapping]]] = ...) -> None: ...

class BundledCall(_message.Message):
    __slots__ = ("method", "requests", "silent")
    METHOD_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    SILENT_FIELD_NUMBER: _ClassVar[int]
    method: str
    requests: _containers.RepeatedScalarFieldContainer[bytes]
    silent: bool
    def __init__(self, method: _Optional[str] = ..., requests: _Optional[_Iterable[bytes]] = ..., silent: _Optional[bool] = ...) -> None: ...

class BundledReplies(_message.Message):
    __slots__ = ("replies", "refusal")
    REPLIES_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    replies: _containers.RepeatedCompositeFieldContainer[BundledReply]
    refusal: _party_pb2.Refusal
    def __init__(self, replies: _Optional[_Iterable[_Union[BundledReply, _Mapping]]] = ..., refusal: _Optional[_Union[_party_pb2.Refusal, _Mapping]] = ...) -> None: ...

class BundledReply(_message.Message):
    __slots__ = ("call", "replies")
    CALL_FIELD_NUMBER: _ClassVar[int]
    REPLIES_FIELD_NUMBER: _ClassVar[int]
    call: bytes
    replies: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, call: _Optional[bytes] = ..., replies: _Optional[_Iterable[bytes]] = ...) -> None: ...

class MailboxRequest(_message.Message):
    __slots__ = ("sender", "recipient", "sent_us", "wait_s", "held", "answer_bytes", "answer_digest")
    SENDER_FIELD_NUMBER: _ClassVar[int]
    RECIPIENT_FIELD_NUMBER: _ClassVar[int]
    SENT_US_FIELD_NUMBER: _ClassVar[int]
    WAIT_S_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    ANSWER_BYTES_FIELD_NUMBER: _ClassVar[int]
    ANSWER_DIGEST_FIELD_NUMBER: _ClassVar[int]
    sender: str
    recipient: str
    sent_us: int
    wait_s: int
    held: _containers.RepeatedScalarFieldContainer[str]
    answer_bytes: int
    answer_digest: bytes
    def __init__(self, sender: _Optional[str] = ..., recipient: _Optional[str] = ..., sent_us: _Optional[int] = ..., wait_s: _Optional[int] = ..., held: _Optional[_Iterable[str]] = ..., answer_bytes: _Optional[int] = ..., answer_digest: _Optional[bytes] = ...) -> None: ...
