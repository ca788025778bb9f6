import { isRecord } from '../fields/fields.ts'
import { ANY_MEMBER } from '../handles/member-reader.ts'
import type { HostedWork, WorkKind, WorkStart } from './table.ts'

/**
 * Work that an MCP server continues after its response: tasks. A call starts a task if it has `params.task`. Source:
 * specification of MCP, revision 2025-11-25, "Tasks" (`tasks/cancel`; types of `@modelcontextprotocol/sdk`).
 */
const TASK: WorkKind = {
  kind: 'task',
  isBatch: false,
  cancel: {
    method: 'POST',
    anchors: [],
    path: '',
    body: { jsonrpc: '2.0', id: 'cancel-{id}', method: 'tasks/cancel', params: { taskId: '{id}' } },
  },
}

const START: WorkStart = {
  kind: TASK,
  beside: null,
  ids: [{ name: 'id', at: { kind: 'member', path: ['result', 'task', 'taskId'] } }],
}

const TERMINAL = ['completed', 'failed', 'cancelled']

export const MCP_WORK: HostedWork = {
  starts: new Map(),
  startedBy: ({ type, parameters }) =>
    type.startsWith('mcp.tools.') && isRecord(parameters['task']) ? START : null,
  ends: new Map([
    ['mcp.rpc.tasks_cancel', { kind: TASK.kind, states: TERMINAL }],
    // The response to this request contains the result of the tool, so the task has ended. A server answers 202 without
    // a result if the message is a notification, and may close the stream of the response before the result.
    ['mcp.rpc.tasks_result', { kind: TASK.kind, states: null, member: ['result', ANY_MEMBER] }],
    ['mcp.rpc.tasks_get', { kind: TASK.kind, states: TERMINAL }],
  ]),
  statusPath: ['result', 'status'],
  // The server ends the stream of a response once it has sent the response, while the task continues.
  endsWithStream: false,
  headers: ['accept', 'mcp-session-id', 'mcp-protocol-version'],
  errorMember: 'error.message',
}
