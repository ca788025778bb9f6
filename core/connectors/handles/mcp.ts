import { headerValues } from '../../request/headers/headers.ts'
import type { HandleReader } from './handle.ts'
import { distinctHandles } from './table-handles.ts'

const HEADER = 'mcp-session-id'
const GIVEN = [{ kind: 'session', header: HEADER }] as const

/** Reads the session id of an MCP server, which clients repeat in the header `Mcp-Session-Id` of each later request. */
export const MCP_HANDLES: HandleReader = {
  named({ rawHeaders }) {
    const ids = headerValues(rawHeaders, HEADER).map((value) => value.trim())
    return distinctHandles(ids.flatMap((id) => (id === '' ? [] : [{ kind: 'session', id }])))
  },
  inMembers: () => [],
  isUnread: () => false,
  given: () => GIVEN,
  read: (_kind, text) => (text.trim() === '' ? null : text.trim()),
}
