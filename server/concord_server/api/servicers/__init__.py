"""The services of the contract: parse, call the use case, map its answer."""

from __future__ import annotations

import grpc
from concord.v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    briefing_service_pb2,
    briefing_service_pb2_grpc,
    consolidate_service_pb2,
    consolidate_service_pb2_grpc,
    evolution_service_pb2,
    evolution_service_pb2_grpc,
    reconcile_service_pb2,
    reconcile_service_pb2_grpc,
)

from concord_server.api.servicers.admin import AdminServicer
from concord_server.api.servicers.briefing import BriefingServicer
from concord_server.api.servicers.consolidate import ConsolidateServicer
from concord_server.api.servicers.evolution import EvolutionServicer
from concord_server.api.servicers.reconcile import ReconcileServicer
from concord_server.api.usecases import UseCases

SERVICE_NAMES: tuple[str, ...] = tuple(
    service.full_name
    for module in (
        reconcile_service_pb2,
        consolidate_service_pb2,
        evolution_service_pb2,
        briefing_service_pb2,
        admin_service_pb2,
    )
    for service in module.DESCRIPTOR.services_by_name.values()
)
"""Full names of the contract's services."""


def add_services(server: grpc.aio.Server, use_cases: UseCases) -> None:
    """Adds every service of the contract to a server.

    Methods that the servicers do not define are those of the generated base classes, which the interceptor
    answers with UNIMPLEMENTED.
    """
    reconcile_service_pb2_grpc.add_ReconcileServiceServicer_to_server(
        ReconcileServicer(use_cases),
        server,
    )
    consolidate_service_pb2_grpc.add_ConsolidateServiceServicer_to_server(
        ConsolidateServicer(use_cases),
        server,
    )
    evolution_service_pb2_grpc.add_EvolutionServiceServicer_to_server(
        EvolutionServicer(use_cases),
        server,
    )
    briefing_service_pb2_grpc.add_BriefingServiceServicer_to_server(
        BriefingServicer(use_cases),
        server,
    )
    admin_service_pb2_grpc.add_AdminServiceServicer_to_server(
        AdminServicer(use_cases),  # type: ignore[abstract]
        server,
    )
