import * as z from 'zod'
import type { ChatApi } from '../api.ts'
import type { IdentifyBot } from './bot.ts'
import type { BotIdentity } from './store.ts'

/**
 * Timeout of the request to the provider, in milliseconds. The timeout is short, because an API request waits for the
 * result.
 */
const TIMEOUT_MS = 2_000

const Identity = z
  .object({ team_id: z.string().nullish(), bot_id: z.string().nullish(), user_id: z.string().nullish() })
  .transform(({ team_id, bot_id, user_id }): BotIdentity => {
    return { teamId: team_id ?? null, botId: bot_id ?? null, userId: user_id ?? null }
  })
const NOBODY: BotIdentity = { teamId: null, botId: null, userId: null }
/** Error codes of the provider for a token that can never become valid again. */
const REFUSED: ReadonlySet<string> = new Set(['invalid_auth', 'token_revoked', 'account_inactive'])

/**
 * Creates the function that identifies the bot of a chat token, by the method `auth.test`. A token that the provider
 * rejects has no bot.
 */
export function createBotIdentity(api: ChatApi): IdentifyBot {
  return async (token) => {
    if (/[^\x21-\x7e]/.test(token)) return NOBODY
    const call = { token, signal: AbortSignal.timeout(TIMEOUT_MS) }
    const reply = await api('auth.test', {}, call).catch(() => null)
    if (reply === null) return null
    if (!reply.ok) return REFUSED.has(reply.error) ? NOBODY : null
    return Identity.safeParse(reply.body).data ?? null
  }
}
