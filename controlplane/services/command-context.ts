import type * as z from 'zod'
import { ChaperoneError } from '../../core/errors.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { parseInput } from '../http/input.ts'
import type { Db } from '../store/query.ts'
import type { Approvals } from './approvals.ts'
import type { KillSwitch } from './kill-switch.ts'

export type CommandDeps = {
  readonly db: Db
  readonly keyring: Keyring
  readonly orgId: string
  readonly approvals: Approvals
  readonly killSwitch: KillSwitch
}

/** The gateway whose internal API was called. `name` is `namespace/name`. */
export type CommandGateway = { readonly gatewayId: string; readonly name: string }

/** Gives the body of a 200; throws ChaperoneError for a refusal. `input` is not parsed yet. */
export type CommandHandler = (gateway: CommandGateway, input: unknown) => Promise<Record<string, unknown>>

/** Throws `validation` with the paths of what is wrong. */
export function parsed<S extends z.ZodType>(schema: S, input: unknown): z.infer<S> {
  return parseInput(schema, input) as z.infer<S>
}

/** Rows from manifests are changed in their manifest only: anything else the next edit would undo. */
export function refuseManaged(row: { readonly source: string; readonly managedBy: string | null }): void {
  if (row.source === 'api') return
  const owner = row.managedBy ?? row.source
  throw new ChaperoneError('conflict', {
    error: `Managed by ${owner}; edit the manifest`,
    detail: `It comes from ${owner}. Change it there, the change is in force within a second.`,
  })
}
