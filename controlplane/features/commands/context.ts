import type * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import type { CommandReplies, ForwardedKillSwitch } from '../../../core/wire/gateway/commands.ts'
import type { DeepReadonly } from '../../../core/wire/schema/fields.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Db } from '../../db/query.ts'
import type { Restriction } from '../../http/auth/restriction.ts'
import { parseInput } from '../../http/input.ts'
import type { Approvals } from '../approvals/service.ts'
import type { IdentifyBot } from '../chat/bot/bot.ts'
import type { KillSwitch } from '../kill-switch/service.ts'

export type CommandDeps = {
  readonly db: Db
  readonly keyring: Keyring
  readonly orgId: string
  readonly identifyBot?: IdentifyBot | undefined
  readonly approvals: Approvals
  readonly killSwitch: KillSwitch
  /**
   * Resolves whether answers to approvals require the session of a user. `givesAccess`: true for operations that give
   * access.
   */
  readonly isTokenRestricted: (givesAccess: boolean) => Promise<boolean>
}

/** The gateway on whose internal API the command was called. `name`: full name, `namespace/name`. */
export type CommandGateway = {
  readonly gatewayId: string
  readonly name: string
  readonly restriction?: Restriction
}

/**
 * Runs one command and resolves to the body of the reply with status 200. Rejects with a ChaperoneError for a refusal.
 * `input` is not validated yet.
 */
export type CommandHandler<C extends keyof CommandReplies> = (
  gateway: CommandGateway,
  input: unknown,
  stop?: ForwardedKillSwitch,
) => Promise<DeepReadonly<CommandReplies[C]>>

export type CommandHandlers<C extends keyof CommandReplies> = { readonly [Name in C]: CommandHandler<Name> }

export type RequireSession = (what: string) => void

/**
 * Returns a function that throws `forbidden` for changes that loosen rules, if approvals require the session of a
 * user. The tokens of the gateway are not sufficient: every process of the same operating-system account can read
 * these tokens, and an agent could loosen the rules for its own requests. Must be called before a transaction,
 * because the function reads the database.
 */
export async function sessionRequirement({
  isTokenRestricted,
}: Pick<CommandDeps, 'isTokenRestricted'>): Promise<RequireSession> {
  const isRestricted = await isTokenRestricted(false)
  return (what) => {
    if (!isRestricted) return
    throw new ChaperoneError('forbidden', {
      detail: `${what} the session of a user, but the token of the internal API identifies no user. Run chaperone login and use the command line, or use the dashboard. To turn this protection off, start Chaperone with chaperone up --approvals token, or the control plane with APPROVALS=token.`,
      extra: { restriction: 'machine_token' },
    })
  }
}

/** Validates the input against the schema. Throws `validation` with the paths of the invalid fields. */
export function parsed<S extends z.ZodType>(schema: S, input: unknown): z.infer<S> {
  return parseInput(schema, input) as z.infer<S>
}
