"""AdminService, put together from its parts."""

from __future__ import annotations

from concord.v1 import admin_service_pb2_grpc

from concord_server.api.servicers.predicates import PredicatesServicer
from concord_server.api.servicers.projects import ProjectsServicer
from concord_server.api.usecases import UseCases


class AdminServicer(ProjectsServicer, PredicatesServicer, admin_service_pb2_grpc.AdminServiceServicer):
    """For those who run the service; each part defines the calls of one matter."""

    def __init__(self, use_cases: UseCases) -> None:
        self._use_cases = use_cases
