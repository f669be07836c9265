"""Checks without an engine: the model, and the base in its data directory."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kb.cli.doctor import Check, Verdict
from kb.cli.doctor.damage import RESTORE, Problem, check_damage
from kb.cli.render.progress import progress_of_steps
from kb.cli.render.terminal import counted
from kb.engine.checkup import examine_base, read_base
from kb.engine.errors import Conflict, KbError, NotFound
from kb.engine.models_on_disk import list_models


def check_model(cache: Path, chosen: Path | None) -> Check:
    model = next(one for one in list_models(cache, chosen) if one.used)
    if model.problem is None:
        return Check("model", Verdict.OK, f"{model.name} is in {model.folder}")
    advice = "kb model fetch" if chosen is None else "Set KB_EMBEDDING_MODEL to a model that is there: kb model list"
    return Check("model", Verdict.WRONG, model.problem, advice)


def check_base(data_dir: Path, *, originals_url: str, quick: bool) -> Iterator[Check]:
    try:
        base = read_base(data_dir)
        told = f"schema {base.schema_version}, {counted(base.documents, 'document')} in {data_dir}"
        yield Check("base", Verdict.OK, told)
        if quick:
            return
        if originals_url:
            yield Check("originals", Verdict.OK, f"In {originals_url}, where only a running engine reads them")
            base = replace(base, originals={})
        with progress_of_steps() as show:
            found = examine_base(data_dir, base, lambda done, total: show("Reading originals", done, total))
    except NotFound as error:
        if any((data_dir / "originals").glob("??/*")):
            yield Check("base", Verdict.WRONG, f"{error} But there are originals, so there was one.", RESTORE)
        else:
            yield Check("base", Verdict.OK, f"{error} The engine makes one when it starts.")
    except Conflict as error:
        advice = "Set KB_ENGINE_URL to where it listens; its log says that in the first line."
        yield Check("base", Verdict.WARNING, str(error), advice)
    except KbError as error:
        yield Check("base", Verdict.WRONG, str(error), RESTORE)
    except OSError as error:
        told = f"{error.filename or data_dir} cannot be read: {error.strerror}"
        yield Check(
            "base", Verdict.WRONG, told, "Do this as the user who runs the engine, or choose another --data-dir."
        )
    else:
        problems = [Problem(damage.kind, damage.message, damage.is_derived) for damage in found]
        whole = f"The base and {counted(len(base.originals), 'original')} are as they were written"
        yield from check_damage(problems, whole=whole)
