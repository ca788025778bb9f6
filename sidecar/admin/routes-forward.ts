import type * as z from 'zod'
import { TYPES_WITHOUT_HOSTS } from '../../core/connectors/registry.ts'
import type { CommandBody, CommandReply } from '../../core/wire/gateway/commands.ts'
import {
  ApprovalRespond,
  ConnectorAdd,
  ConnectorRemove,
  EnforcementSet,
  PermissionSet,
} from '../../core/wire/gateway/internal.ts'
import type { Commands } from '../control/commands.ts'
import { type ApiRoute, get, post } from './api-route.ts'

const ConnectorAddChecked = ConnectorAdd.superRefine(({ type, domains, base_url }, context) => {
  if (!TYPES_WITHOUT_HOSTS.includes(type) || domains?.length || base_url !== undefined) return
  context.addIssue({ code: 'custom', path: ['domains'], message: `required for type ${type}` })
}) as z.ZodType<z.infer<typeof ConnectorAdd>>

export type ForwardDeps = {
  readonly commands: Commands
  /**
   * Resolves once a newer snapshot is applied, or after a short timeout, so that a change is effective when the call
   * returns.
   */
  readonly untilNewer: (version: number | null) => Promise<void>
  readonly version: () => number | null
}

/**
 * Returns the routes that forward a command to the control plane. The control plane stores the configuration, so the
 * next snapshot cannot revert the change.
 */
export function forwardRoutes({ commands, untilNewer, version }: ForwardDeps): readonly ApiRoute[] {
  const change = async (command: CommandBody): Promise<CommandReply> => {
    const before = version()
    const reply = await commands(command)
    if (reply.status === 200) await untilNewer(before)
    return reply
  }
  return [
    post('/internal/connectors/add', ConnectorAddChecked, (input) =>
      change({ command: 'connectors.add', input }),
    ),
    get('/internal/connectors', () => commands({ command: 'connectors.list' })),
    post('/internal/connectors/remove', ConnectorRemove, (input) =>
      change({ command: 'connectors.remove', input }),
    ),
    post('/internal/permissions/set', PermissionSet, (input) =>
      change({ command: 'permissions.set', input }),
    ),
    get('/internal/permissions', () => commands({ command: 'permissions.list' })),
    get('/internal/approvals', () => commands({ command: 'approvals.pending' })),
    get('/internal/approvals/recent', () => commands({ command: 'approvals.recent' })),
    post('/internal/approvals/respond', ApprovalRespond, (input) =>
      commands({ command: 'approvals.respond', input }),
    ),
    post('/internal/enforcement', EnforcementSet, (input) => change({ command: 'enforcement', input })),
  ]
}
