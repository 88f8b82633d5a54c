from . import party_pb2 as _party_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CuratorFrame(_message.Message):
    __slots__ = ("method", "request", "requests_end")
    METHOD_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_END_FIELD_NUMBER: _ClassVar[int]
    method: str
    request: bytes
    requests_end: bool
    def __init__(self, method: _Optional[str] = ..., request: _Optional[bytes] = ..., requests_end: _Optional[bool] = ...) -> None: ...

class PartyFrame(_message.Message):
    __slots__ = ("reply", "replies_end", "refusal")
    REPLY_FIELD_NUMBER: _ClassVar[int]
    REPLIES_END_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    reply: bytes
    replies_end: bool
    refusal: _party_pb2.Refusal
    def __init__(self, reply: _Optional[bytes] = ..., replies_end: _Optional[bool] = ..., refusal: _Optional[_Union[_party_pb2.Refusal, _Mapping]] = ...) -> None: ...
