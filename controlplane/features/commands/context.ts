import type * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import type { ForwardedKillSwitch } from '../../../core/wire/gateway/commands.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Db } from '../../db/query.ts'
import type { Restriction } from '../../http/auth/restriction.ts'
import { parseInput } from '../../http/input.ts'
import type { Approvals } from '../approvals/service.ts'
import type { IdentifyBot } from '../chat/bot.ts'
import type { KillSwitch } from '../kill-switch/service.ts'

export type CommandDeps = {
  readonly db: Db
  readonly keyring: Keyring
  readonly orgId: string
  readonly identifyBot?: IdentifyBot | undefined
  readonly approvals: Approvals
  readonly killSwitch: KillSwitch
  /** Resolves whether approvals require the session of a user. */
  readonly isTokenRestricted: (givesAccess: boolean) => Promise<boolean>
}

/** The gateway whose internal API was called. `name` is `namespace/name`. */
export type CommandGateway = {
  readonly gatewayId: string
  readonly name: string
  readonly restriction?: Restriction
}

/** Returns the body of a 200; throws ChaperoneError for a refusal. `input` is unparsed. */
export type CommandHandler = (
  gateway: CommandGateway,
  input: unknown,
  stop?: ForwardedKillSwitch,
) => Promise<Record<string, unknown>>

export type RequireSession = (what: string) => void

/**
 * Returns a check that rejects changes that loosen rules while approvals require a session: every process of the user
 * account can read the tokens of the gateway, and could approve its own requests by changing the rules. Call it before
 * a transaction, because it reads the database.
 */
export async function sessionRequirement({
  isTokenRestricted,
}: Pick<CommandDeps, 'isTokenRestricted'>): Promise<RequireSession> {
  const isRestricted = await isTokenRestricted(false)
  return (what) => {
    if (!isRestricted) return
    throw new ChaperoneError('forbidden', {
      detail: `${what} the session of a user here, and the token of the internal API names none. Run chaperone login and use the command line, or use the dashboard. chaperone up --approvals token turns this protection off.`,
      extra: { restriction: 'machine_token' },
    })
  }
}

/** Throws `validation` with the paths of the invalid fields. */
export function parsed<S extends z.ZodType>(schema: S, input: unknown): z.infer<S> {
  return parseInput(schema, input) as z.infer<S>
}
