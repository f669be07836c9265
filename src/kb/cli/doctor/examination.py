"""One run of `kb doctor`: the checks in their order, and with `--repair` what can be made anew."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import httpx

from kb.cli.calling import called_engine, failure_of
from kb.cli.doctor import Check, Verdict
from kb.cli.doctor.damage import Problem, check_damage
from kb.cli.doctor.engine import CheckUnderWay, check_queue, check_status, find_problems
from kb.cli.doctor.machine import check_data_dir, check_mcp_server, check_secrets, check_settings
from kb.cli.exits import Exit
from kb.cli.jobs import wait_for
from kb.cli.render.models import fetching
from kb.cli.render.progress import spinner
from kb.client import EngineClient, EngineTooOld, NotAnEngine
from kb.settings import (
    ClientSettings,
    EngineSettings,
    SettingsError,
    cache_dir,
    is_loopback,
    load_client_settings,
    load_engine_settings,
    model_folder,
    present_key,
)
from kb.settings.explaining import explain_settings

# What tells how the engine is takes milliseconds. Only reading everything takes long, and has no limit.
ANSWER_WITHIN_SECONDS = 30.0
# As many as the engine lists at once; so many workers nobody has.
MOST_RUNNING = 1000
READING = "Reading everything that is stored ..."


@dataclass(frozen=True)
class Doctor:
    tell: Callable[[Check], None]
    """Is given each check as soon as it is made."""
    quick: bool
    """Whether to leave out what reads everything that is stored."""
    repair: bool

    def examine(self, engine_url: str | None, data_dir: Path | None) -> Exit:
        """`DONE`, whatever was found; or why the engine could not be asked."""
        explanation = explain_settings()
        self._tell_all(check_settings(explanation))
        self._tell_all(check_secrets(explanation))
        try:
            client = load_client_settings({"engine_url": engine_url})
            engine = load_engine_settings({"data_dir": data_dir})
        except SettingsError:
            # Told already; without them nothing else can be found.
            return Exit.DONE
        called_engine.set(client.engine_url)
        outcome = asyncio.run(self._examine_engine(client))
        if outcome is Exit.UNREACHABLE:
            self._examine_without_engine(engine)
        self._tell_all(check_mcp_server())
        return outcome

    def _tell_all(self, checks: Iterable[Check]) -> None:
        for check in checks:
            self.tell(check)

    async def _examine_engine(self, settings: ClientSettings) -> Exit:
        url = settings.engine_url
        try:
            key = present_key(settings.api_key)
            async with EngineClient(url, key, timeout=ANSWER_WITHIN_SECONDS) as engine:
                await engine.require_supported_engine()
                await self._ask(engine, url)
        except httpx.HTTPStatusError as error:
            is_refused = error.response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN)
            failure = failure_of(error.response)
            self.tell(Check("key" if is_refused else "engine", Verdict.WRONG, failure.sentence))
            return failure.exit
        except EngineTooOld as error:
            self.tell(Check("engine", Verdict.WRONG, str(error), "Install the same version there, and start it again."))
        except (httpx.ReadTimeout, httpx.WriteTimeout):
            advice = "Look at its log. If it is stuck, stop it and start it again: nothing that was added is lost."
            self.tell(Check("engine", Verdict.WRONG, f"The engine at {url} does not answer", advice))
            return Exit.UNREACHABLE
        except (httpx.RequestError, NotAnEngine) as error:
            is_other = isinstance(error, NotAnEngine | httpx.DecodingError)
            message = str(NotAnEngine(url)) if is_other else f"There is no engine at {url}"
            advice = "Start one with `kb up`, or set KB_ENGINE_URL to where it runs."
            self.tell(Check("engine", Verdict.WRONG, message, advice))
            return Exit.UNREACHABLE
        return Exit.DONE

    async def _ask(self, engine: EngineClient, url: str) -> None:
        if self.repair:
            await self._repair(engine)
        status = await engine.get_status()
        self._tell_all(check_status(status, url))
        running = await engine.list_jobs(status="running", limit=MOST_RUNNING)
        self._tell_all(check_queue(status["queue"], running["jobs"]))
        if is_loopback(httpx.URL(url).host):
            self._tell_all(check_data_dir(Path(status["storage"]["data_dir"])))
        if not self.quick:
            with suppress(CheckUnderWay):
                problems, whole = await self._find_problems(engine)
                self._tell_all(check_damage(problems, whole=whole))

    async def _repair(self, engine: EngineClient) -> None:
        """Reindex, if something is derived that is damaged or missing, and all is whole that it is derived from."""
        problems: list[Problem] = []
        if not self.quick:
            with suppress(CheckUnderWay):
                problems, _ = await self._find_problems(engine)
        status = await engine.get_status()
        is_needed = problems or status["chunks"] != status["vectors"]
        if not is_needed or not all(problem.is_derived for problem in problems):
            return
        job = await wait_for(engine, await engine.reindex())
        if job["status"] == "completed":
            self.tell(Check("repair", Verdict.OK, "What searches use was made anew"))
        else:
            told = f"Job {job['id']} did not make anew what searches use"
            self.tell(Check("repair", Verdict.WRONG, told, f"`kb jobs {job['id']}` tells why"))

    async def _find_problems(self, engine: EngineClient) -> tuple[list[Problem], str]:
        try:
            with spinner(READING):
                return await find_problems(engine)
        except CheckUnderWay:
            told = "Somebody else has the engine read everything just now"
            self.tell(Check("contents", Verdict.WARNING, told, "Do this again when that is done."))
            raise

    def _examine_without_engine(self, settings: EngineSettings) -> None:
        """The engine may run elsewhere, and nothing of it be installed here."""
        if find_spec("apsw") is None:
            return
        from kb.cli.doctor.without_engine import check_base, check_model
        from kb.engine.errors import KbError
        from kb.engine.models_on_disk import fetch_model

        cache = cache_dir()
        chosen = model_folder(settings.embedding_model, cache)
        model = check_model(cache, chosen)
        if self.repair and model.status is Verdict.WRONG and chosen is None:
            try:
                with spinner(fetching(None)):
                    fetch_model(cache, None)
                self.tell(Check("repair", Verdict.OK, "The embedding model was fetched"))
            except KbError as error:
                self.tell(Check("repair", Verdict.WRONG, str(error)))
            model = check_model(cache, chosen)
        self.tell(model)
        self._tell_all(check_data_dir(settings.data_dir))
        if not settings.store_url.get_secret_value():
            self._tell_all(check_base(settings.data_dir, originals_url=settings.originals_url, quick=self.quick))
