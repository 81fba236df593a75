"""Puts the parts of one process together."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from concord_server.api.admin_usecases import AdminUseCases
from concord_server.api.briefing_usecases import BriefingUseCases
from concord_server.api.evolution_usecases import EvolutionUseCases
from concord_server.api.server import ServerOptions
from concord_server.api.usecases import UseCases
from concord_server.bootstrap.consolidation import consolidate_use_cases
from concord_server.config import Settings
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.embedder import Embedder
from concord_server.ports.events import Extractor
from concord_server.ports.ledger import Ledger
from concord_server.ports.project_settings import SettingsOfProjects
from concord_server.providers.embedders.model_files import ExportedModel, find_model
from concord_server.providers.embedders.onnx import OnnxEmbedder, OnnxModel, OnnxOptions
from concord_server.providers.judges.local import LocalJudge
from concord_server.providers.system import SystemClock, TimeOrderedIds
from concord_server.services.batch import BatchReconcile
from concord_server.services.batch_get_facts import BatchGetFacts
from concord_server.services.branch import Branch
from concord_server.services.briefing import GetEntityBriefing
from concord_server.services.catch_up import CatchUp
from concord_server.services.check_claim import CheckClaim
from concord_server.services.confidence import RecomputeConfidence
from concord_server.services.conflicts import GetConflict, ListConflicts
from concord_server.services.decisions import GetDecision
from concord_server.services.entities import ChangeLinks, ListEntities
from concord_server.services.facts import GetFact, ListFacts
from concord_server.services.history import ListFactVersions
from concord_server.services.index_events import IndexEvents
from concord_server.services.judging.project_judge import ProjectJudge
from concord_server.services.lineage import GetEvolutionChain, GetEvolutionTree, GetLatestInChain
from concord_server.services.matching import Matcher
from concord_server.services.merge_entities import MergeEntities
from concord_server.services.noteworthy import ListNoteworthyFacts
from concord_server.services.observations import SearchObservations
from concord_server.services.predicates import ListPredicates, UpdatePredicate
from concord_server.services.project_settings import GetProjectSettings, UpdateProjectSettings
from concord_server.services.projects import CreateProject, ListProjects
from concord_server.services.propose_predicates import PredicateProposer
from concord_server.services.reconcile import Reconcile
from concord_server.services.resolve_conflict import ResolveConflict
from concord_server.services.schedule import ActivateScheduled
from concord_server.services.search import SearchFacts
from concord_server.services.settings_cache import CachedSettings
from concord_server.services.signals import ChangeSignals
from concord_server.services.statuses import UpdateFactStatus
from concord_server.services.update_fact import UpdateFact
from concord_server.services.upkeep import Upkeep
from concord_server.services.watch import WatchFacts
from concord_server.services.withdraw_source import WithdrawSource
from concord_server.storage.check import check_database
from concord_server.storage.engine import EngineOptions, create_engine
from concord_server.storage.migrate import migrate
from concord_server.storage.notifications import ChangeListener
from concord_server.storage.sessions import PostgresLedger
from concord_server.worker.background import Background
from concord_server.worker.catching_up import catching_up
from concord_server.worker.indexing import indexing
from concord_server.worker.scheduler import scheduling
from concord_server.worker.upkeep import keeping_up
from concord_server.worker.worker import Doorbell


def find_embedder(settings: Settings) -> ExportedModel:
    """Returns the exported model that the settings name.

    Raises:
        ModelNotFoundError: it was not exported; the message names the command that does it.
    """
    return find_model(settings.embedder_model, settings.models_dir)


async def load_embedder(settings: Settings, model: ExportedModel) -> OnnxEmbedder:
    """Returns the embedder, loaded off the event loop.

    Raises:
        ModelLoadError: the exported model cannot be used.
    """
    options = OnnxOptions(threads=settings.embedder_threads)
    loaded = await asyncio.to_thread(OnnxModel, model, options)
    return OnnxEmbedder(loaded, options.limits)


def load_judge() -> LocalJudge:
    """Returns the local judge, ready to use."""
    return LocalJudge.load()


def migrate_database(database_url: str, dimension: int) -> str:
    """Brings the schema up to date and returns its revision.

    Raises:
        DatabaseNotReadyError: the database cannot be used as it is; the message says what to do.
        UnavailableError: it cannot be reached.
    """
    return migrate(database_url, embedding_dimension=dimension)


async def connect_ledger(settings: Settings, database_url: str, embedder: Embedder) -> PostgresLedger:
    """Returns the ledger on a checked database; close it in the end.

    Raises:
        DatabaseNotReadyError: the database cannot be used as it is; the message says what to do.
        UnavailableError: it cannot be reached.
    """
    engine = create_engine(database_url, EngineOptions(pool_size=settings.pool_size))
    try:
        await check_database(engine, embedder_name=embedder.name, embedding_dimension=embedder.dimension)
    except BaseException:
        await engine.dispose()
        raise
    return PostgresLedger(engine)


def listen_for_changes(database_url: str, signals: ChangeSignals) -> ChangeListener:
    """Returns what wakes watches, at work; close it in the end."""
    listener = ChangeListener(database_url, signals, EngineOptions(application_name="concord watches"))
    listener.start()
    return listener


def background_work(
    settings: Settings,
    ledger: PostgresLedger,
    embedder: Embedder,
    judge: ProjectJudge,
    project_settings: SettingsOfProjects,
) -> Background:
    """Returns what goes on beside the calls of one serving process, at work; close it in the end."""
    clock, ids = SystemClock(), TimeOrderedIds()
    matcher = Matcher(ledger, embedder, judge, fallback=judge.local)
    changes_kept = timedelta(days=settings.change_log_days) or None
    background = Background(
        [
            scheduling(ActivateScheduled(ledger, ledger.agenda, clock, ids), clock),
            catching_up(CatchUp(ledger, ledger.agenda, matcher, embedder, clock, ids, project_settings)),
            indexing(IndexEvents(ledger, ledger.event_agenda, embedder)),
            keeping_up(Upkeep(ledger, ledger.upkeep_agenda, clock, changes_kept)),
        ]
    )
    background.start()
    return background


def server_options(*, reuse_port: bool, has_model: bool) -> ServerOptions:
    """Returns how the gRPC server runs."""
    return ServerOptions(reuse_port=reuse_port, has_model=has_model)


def use_cases(
    ledger: Ledger,
    embedder: Embedder,
    judge: ProjectJudge,
    signals: ChangeSignals,
    bell: Doorbell,
    project_settings: CachedSettings,
    extractor: Extractor | None = None,
) -> UseCases:
    """Returns the use cases over these parts.

    Args:
        signals: wake watches when the change log has grown.
        bell: wakes the workers of this process.
        project_settings: reads the settings of projects over the same ledger.
        extractor: takes facts from events; without it, those without candidates wait.
    """
    clock, ids = SystemClock(), TimeOrderedIds()
    matcher = Matcher(ledger, embedder, judge, fallback=judge.local)
    proposer = PredicateProposer(ledger, embedder, judge, fallback=judge.local, clock=clock)
    reconcile = Reconcile(ledger, matcher, embedder, clock, ids, project_settings, proposer)
    return UseCases(
        clock=clock,
        project_settings=project_settings,
        reconcile=reconcile,
        batch_reconcile=BatchReconcile(reconcile, embedder),
        get_decision=GetDecision(ledger),
        list_conflicts=ListConflicts(ledger),
        get_conflict=GetConflict(ledger),
        resolve_conflict=ResolveConflict(ledger, clock, ids),
        get_fact=GetFact(ledger),
        list_facts=ListFacts(ledger),
        update_fact_status=UpdateFactStatus(ledger, clock, ids),
        watch_facts=WatchFacts(ledger, signals),
        briefing=_briefing_use_cases(ledger, embedder, judge, clock, ids, project_settings),
        consolidate=consolidate_use_cases(ledger, embedder, signals, bell, project_settings, proposer, extractor),
        evolution=_evolution(ledger, embedder, clock, ids),
        admin=_admin_use_cases(ledger, clock, ids, project_settings),
    )


def _admin_use_cases(ledger: Ledger, clock: Clock, ids: Ids, project_settings: CachedSettings) -> AdminUseCases:
    return AdminUseCases(
        create_project=CreateProject(ledger, clock),
        list_projects=ListProjects(ledger),
        get_project_settings=GetProjectSettings(ledger),
        update_project_settings=UpdateProjectSettings(ledger, clock, project_settings.changed),
        list_predicates=ListPredicates(ledger),
        update_predicate=UpdatePredicate(ledger, clock, ids),
    )


def _evolution(ledger: Ledger, embedder: Embedder, clock: Clock, ids: Ids) -> EvolutionUseCases:
    return EvolutionUseCases(
        branch=Branch(ledger, embedder, clock, ids),
        get_evolution_chain=GetEvolutionChain(ledger),
        get_latest_in_chain=GetLatestInChain(ledger),
        get_evolution_tree=GetEvolutionTree(ledger),
        list_fact_versions=ListFactVersions(ledger),
        update_fact=UpdateFact(ledger, clock, ids),
        withdraw_source=WithdrawSource(ledger, clock, ids),
        batch_get_facts=BatchGetFacts(ledger, clock),
    )


def _briefing_use_cases(
    ledger: Ledger,
    embedder: Embedder,
    judge: ProjectJudge,
    clock: Clock,
    ids: Ids,
    project_settings: SettingsOfProjects,
) -> BriefingUseCases:
    return BriefingUseCases(
        search_observations=SearchObservations(ledger, embedder),
        search_facts=SearchFacts(ledger, embedder, clock, project_settings),
        get_entity_briefing=GetEntityBriefing(ledger, clock, project_settings),
        list_noteworthy_facts=ListNoteworthyFacts(ledger, clock, project_settings),
        check_claim=CheckClaim(ledger, embedder, judge, judge.local, clock, project_settings),
        list_entities=ListEntities(ledger),
        change_links=ChangeLinks(ledger, clock),
        merge_entities=MergeEntities(ledger, clock, ids),
        recompute_confidence=RecomputeConfidence(ledger, clock),
    )
