import type { Logger } from 'pino'
import { chatTokenIn } from '../../../../core/connectors/chat.ts'
import { sha256 } from '../../../../runtime/sha256.ts'
import type { Keyring } from '../../../crypto/keyring.ts'
import { isSameHash } from '../../../crypto/tokens.ts'
import { bumpVersion } from '../../../db/config-version.ts'
import type { Db } from '../../../db/query.ts'
import { listConnectors } from '../../connectors/rows.ts'
import { readSetting } from '../../settings/rows.ts'
import { APPROVALS_BOT, chatTokenOf, type IdentifyBot } from './bot.ts'
import { type ChatBotRow, listChatBots, upsertChatBot } from './store.ts'

export type BotCheckDeps = {
  readonly db: Db
  readonly orgId: string
  readonly keyring: Keyring
  readonly log: Logger
  readonly identifyBot: IdentifyBot
  readonly everyMs?: number
}

const EVERY_MS = 60_000

/**
 * Identifies the bots of stored chat tokens whose bot is still unknown, because the tokens come from manifests or
 * were stored while the provider was unreachable. Runs at the start and every minute until disposed. The results take
 * effect with the next version of the configuration.
 */
export class BotCheck implements Disposable {
  readonly #deps: BotCheckDeps
  readonly #timer: NodeJS.Timeout
  #isRunning = false

  constructor(deps: BotCheckDeps) {
    this.#deps = deps
    void this.#run()
    this.#timer = setInterval(() => void this.#run(), deps.everyMs ?? EVERY_MS)
    this.#timer.unref()
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return
    this.#isRunning = true
    try {
      await check(this.#deps)
    } catch (error) {
      this.#deps.log.warn(
        { err: error },
        'could not find out which bots the stored chat tokens belong to, trying again in a minute',
      )
    } finally {
      this.#isRunning = false
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}

async function check(deps: BotCheckDeps): Promise<void> {
  const { db, identifyBot } = deps
  const tokens = await tokensOf(deps)
  const known = new Map((await listChatBots(db)).map((bot) => [bot.owner, bot]))
  const open = [...tokens].filter(([owner, token]) => !isKnown(known.get(owner), token))
  const found: ChatBotRow[] = []
  for (const [owner, token] of open) {
    const identity = await identifyBot(chatTokenIn(token) ?? token)
    if (identity !== null) found.push({ owner, tokenSha256: sha256(token), ...identity })
  }
  if (found.length === 0) return
  await db.tx(async (q) => {
    for (const row of found) await upsertChatBot(q, row)
    await bumpVersion(q)
  })
}

/** Returns the chat tokens by owner. Empty when no chat is configured for approvals. */
async function tokensOf(deps: BotCheckDeps): Promise<ReadonlyMap<string, string>> {
  const { db, keyring } = deps
  const own = await readSetting(db, deps, 'chat_bot_token')
  const tokens = new Map<string, string>()
  if (own === null) return tokens
  tokens.set(APPROVALS_BOT, own)
  for (const row of await listConnectors(db)) {
    if (row.credential === null) continue
    const token = keyring.open(row.credential, row.id)
    if (chatTokenOf({ type: row.type, token }) !== null) tokens.set(row.id, token)
  }
  if (tokens.size === 1) tokens.clear()
  return tokens
}

function isKnown(bot: ChatBotRow | undefined, token: string): boolean {
  return bot !== undefined && isSameHash(bot.tokenSha256, sha256(token))
}
