"""Drives the Python client through the scenario that its argument describes, and tells as
lines of JSON what the client saw."""

import json
import sys
from typing import Any, Literal

import anyio
import httpx2
from mcp import Client, ClientSession
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Request, RequestParams, Result
from pydantic import ConfigDict, TypeAdapter
from pydantic.alias_generators import to_camel

MODES = {"legacy": "legacy", "modern": "2026-07-28", "auto": "auto"}


def tell(event: str, **fields: Any) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


class CreatedTask(Result):
    """What a call gives that goes on as a task."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    result_type: Literal["task"]
    task_id: str
    status: str
    poll_interval_ms: int


class TaskParams(RequestParams):
    """Which task is meant."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    task_id: str


class TaskRequest(Request[TaskParams, str]):
    """`tasks/get` or `tasks/cancel`."""

    name_param = "taskId"


ANY_RESULT = TypeAdapter(dict[str, Any])


async def ask(session: ClientSession, method: str, task_id: str) -> dict[str, Any]:
    return await session.send_request(TaskRequest(method=method, params=TaskParams(task_id=task_id)), ANY_RESULT)


async def follow(session: ClientSession, created: CreatedTask, message: str | None = None) -> dict[str, Any]:
    """Polls a task, as often as the server asks for, until it is over or says this."""
    while (task := await ask(session, "tasks/get", created.task_id))["status"] == "working":
        if message and task.get("statusMessage") == message:
            break
        await anyio.sleep(created.poll_interval_ms / 1000)
    return task


async def resolve(created: CreatedTask, context: ClaimContext) -> CallToolResult:
    tell("task", task_id=created.task_id, status=created.status)
    task = await follow(context.session, created)
    tell("task_ended", status=task["status"])
    return CallToolResult.model_validate(task["result"])


class Tasks(ClientExtension):
    """The extension for tasks, which the package leaves to who uses it."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=CreatedTask, resolve=resolve)]


def script(text: str, **more: Any) -> dict[str, Any]:
    return {"action": "execute_js", "script": text, "tab_id": 7, "timeout_ms": 60_000, **more}


async def tools(client: Client) -> None:
    tell("tools", names=[tool.name for tool in (await client.list_tools()).tools])


async def submit(client: Client) -> None:
    """Submits a command, then waits for it."""
    submitted = (await client.call_tool("interact", script("submitted"))).structured_content
    tell("submitted", result=submitted)

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        tell("progress", of="wait", progress={"progress": progress, "total": total, "message": message})

    wait = {"what": "command_result", "correlation_id": submitted["correlation_id"], "wait_ms": 20_000}
    waited = await client.call_tool("observe", wait, progress_callback=on_progress)
    tell("waited", result=waited.structured_content)


async def cancel(client: Client) -> None:
    """Gives a call up once its command is known to run."""
    with anyio.CancelScope() as call:

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            tell("progress", of="cancel", progress={"progress": progress, "total": total, "message": message})
            call.cancel()

        await client.call_tool("interact", script("given up", wait_ms=20_000), progress_callback=on_progress)
    tell("gave_up", aborted=call.cancelled_caught)
    while (await client.call_tool("observe", {"what": "pending_commands"})).structured_content["pending"]:
        pass
    tell("nothing_pending")


async def tasks(client: Client) -> None:
    """Has one call finished as a task, and cancels another."""
    finished = await client.call_tool("interact", script("as a task"))
    tell("finished", result=finished.structured_content)
    call = script("cancelled as a task")
    created = await client.session.call_tool("interact", call, allow_claimed=True)
    tell("task", task_id=created.task_id, status=created.status)
    await follow(client.session, created, "a quarter")
    await ask(client.session, "tasks/cancel", created.task_id)
    tell("task_ended", status=(await follow(client.session, created))["status"])


STEPS = {"tools": tools, "submit": submit, "cancel": cancel, "tasks": tasks}


async def initialize_after_discover(scenario: dict[str, Any]) -> None:
    """What `Client` does by itself if it makes nothing of the answer to its probe."""
    async with transport_of(scenario) as (read, write), ClientSession(read, write) as session:
        discovered = await session.send_discover("2026-07-28")
        tell("discovered", versions=discovered["supportedVersions"])
        initialized = await session.initialize()
        tell("connected", version=initialized.protocol_version)
        tell("tools", names=[tool.name for tool in (await session.list_tools()).tools])
        health = await session.call_tool("configure", {"action": "health"})
        tell("called", is_error=health.is_error)
    tell("closed")


def transport_of(scenario: dict[str, Any]) -> Any:
    if stdio := scenario.get("stdio"):
        return stdio_client(StdioServerParameters(**stdio))
    headers = {"Authorization": f"Bearer {scenario['http']['token']}"}
    # Longer than any wait of the scenario, as the package's own client has it.
    http_client = httpx2.AsyncClient(headers=headers, timeout=60)
    return streamable_http_client(scenario["http"]["url"], http_client=http_client)


async def play(scenario: dict[str, Any]) -> None:
    if scenario["steps"] == ["initialize_after_discover"]:
        return await initialize_after_discover(scenario)
    extensions = [Tasks()] if "tasks" in scenario["steps"] else None
    async with Client(transport_of(scenario), mode=MODES[scenario["era"]], extensions=extensions) as client:
        tell("connected", version=client.protocol_version)
        for step in scenario["steps"]:
            await STEPS[step](client)
    tell("closed")


anyio.run(play, json.loads(sys.argv[1]))
