"""``tacit serve``: an HTTP service with a web page."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from tacit.cli.interrupt import hand_over, keeps
from tacit.cli.options import PATH, Function
from tacit.cli.say import say
from tacit.data.files import existing_file
from tacit.errors import MissingExtraError, did_you_mean
from tacit.server.request_limits import LOCAL_HOSTS, Limits, ServicePlan, Settings, is_local

_NEEDED = ("fastapi", "httptools", "prometheus_client", "uvicorn")  # of the extra `serve`


def _limit(owner: type[Any], name: str, text: str) -> Callable[[Function], Function]:
    """The option for a limit, with its default."""
    return click.option(f"--{name.replace('_', '-')}", default=getattr(owner, name), show_default=True, help=text)


@click.command()
@click.argument("folders", metavar="MODEL…", nargs=-1, type=PATH)
@click.option("--name", "named", metavar="NAME=MODEL", multiple=True, help="Serve a model under this name.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any free port.")
@click.option("--token", envvar="TACIT_TOKEN", metavar="TEXT", help="Bearer token; safer in $TACIT_TOKEN.")
@click.option("--token-file", type=PATH, help="File with the token.")
@click.option("--insecure", is_flag=True, help="Allow access without a token on a public address.")
@click.option("--allow-host", metavar="NAME", multiple=True, help="A further host name to accept.")
@click.option(
    "--acts", metavar="[NAME=]FILE", multiple=True, help="Ledger of changes and feedback.  [default: in MODEL]"
)
@_limit(Settings, "max_body", "Maximum bytes of a request body.")
@_limit(Settings, "max_connections", "Maximum number of open connections.")
@_limit(Settings, "request_timeout", "Seconds to receive a complete request.")
@_limit(Limits, "max_batch", "Maximum texts or judgements in a request.")
@_limit(Limits, "max_waiting", "Maximum texts queued for a model.")
@_limit(Limits, "timeout", "Seconds that a request may be queued.")
@click.option(
    "--limit", metavar="NAME.LIMIT=N", multiple=True, help="A limit of one model: max_batch, max_waiting, timeout."
)
@click.option("--annif-learn", is_flag=True, help="Let clients of Annif's interface teach the models.")
@click.option("--watch/--no-watch", default=True, help="Reload a model when its folder changes.  [default: watch]")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes that serve.")
def serve(
    folders: tuple[Path, ...], named: tuple[str, ...], host: str, port: int, token: str | None, token_file: Path | None,
    insecure: bool, allow_host: tuple[str, ...], acts: tuple[str, ...], max_body: int, max_connections: int,
    request_timeout: float, limit: tuple[str, ...], annif_learn: bool, watch: bool, workers: int, **common: Any,
) -> None:  # fmt: skip
    """Serve one or several models over HTTP: suggestions, explanations, feedback, and a web page.

    Changes and feedback are saved at once, in the model folder. If that is read-only, give a file with --acts; later,
    `tacit learn MODEL FILE` copies them into a model. Stop with Ctrl-C: requests in progress are finished.

    \b
    Examples:
      tacit serve model
      tacit serve --name news=models/news law --limit law.max_waiting=64
      tacit serve model --workers 4
      TACIT_TOKEN=$(cat token) tacit serve model --host 0.0.0.0
    """
    models = _by_name(folders, named)
    limits = _limits(models, Limits(**common), limit)
    secret = _token(token, token_file)
    if secret is None and not is_local(host) and not insecure:
        raise click.UsageError(
            f"{host} is reachable by others: set a token (TACIT_TOKEN or --token-file), or give --insecure for no token"
        )
    hosts = LOCAL_HOSTS | {name.lower() for name in allow_host} if is_local(host) or allow_host else None
    settings = Settings(secret, max_body, max_connections, request_timeout, hosts, annif_learn)
    if not all(map(find_spec, _NEEDED)):
        raise MissingExtraError("tacit serve", "serve")
    if workers > 1:
        _check_several(watch)
    from tacit.server import run

    keeps("all acknowledged changes are kept; run the same command to serve again")
    hand_over()  # requests in progress are finished first
    plan = ServicePlan(models, limits, settings, _acts(models, acts), watch)
    run.serve(plan, host=host, port=port, n_workers=workers, ready=_announce)


def _check_several(watch: bool) -> None:
    if not watch:
        raise click.UsageError("several workers learn of a new model by watching its folder: omit --no-watch")
    if os.name == "nt":
        raise click.UsageError("--workers above 1 needs Linux or macOS")


def _announce(address: str, n_labels: Mapping[str, int]) -> None:
    for name, number in n_labels.items():
        say(f"serving '{name}': {number:,} labels")
    click.echo(f"{address}  (stop with Ctrl-C)")


def _by_name(folders: tuple[Path, ...], named: tuple[str, ...]) -> dict[str, Path]:
    """Model folders by the name that clients use: the given name, or that of the folder."""
    pairs = [(folder.resolve().name, folder) for folder in folders]
    for assignment in named:
        name, equals, path = assignment.partition("=")
        if not equals or not path:
            raise click.UsageError(f"--name must be NAME=MODEL; got '{assignment}'")
        pairs.append((name, Path(path)))
    if not pairs:
        raise click.UsageError("give at least one model folder to serve")
    found: dict[str, Path] = {}
    for name, folder in pairs:
        if not re.fullmatch(r"[\w.-]+", name):
            raise click.UsageError(
                f"the name of a model must consist of letters, digits, '.', '_' and '-'; got '{name}': use --name"
            )
        if name in found:
            raise click.UsageError(f"two models are called '{name}'; rename one with --name NAME=MODEL")
        found[name] = folder
    return found


def _acts(models: Mapping[str, Path], given: tuple[str, ...]) -> dict[str, Path]:
    """Ledger files by model; with a single model its name may be omitted."""
    found = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or name not in models:
            name, path = next(iter(models)), text
            if len(models) > 1:
                raise click.UsageError(f"--acts must be NAME=FILE if there are several models; got '{text}'")
        found[name] = Path(path)
    return found


def _limits(models: Mapping[str, Path], common: Limits, given: tuple[str, ...]) -> dict[str, Limits]:
    limits = dict.fromkeys(models, common)
    for assignment in given:
        place, equals, value = assignment.partition("=")
        name, dot, which = place.rpartition(".")
        if not equals or not dot:
            raise click.UsageError(f"--limit must be NAME.LIMIT=N; got '{assignment}'")
        if name not in limits:
            raise click.UsageError(f"--limit: unknown model '{name}'{did_you_mean(name, limits)}")
        limits[name] = limits[name].changed(which, value)
    return limits


def _token(token: str | None, file: Path | None) -> str | None:
    if file is not None:
        token = existing_file(file).read_text(encoding="utf-8").strip()
    if token is None:
        return None
    if len(token) < 8 or not token.isascii() or not token.isprintable() or " " in token:
        raise click.UsageError("a token must have at least 8 printable ASCII characters and no blanks")
    return token
