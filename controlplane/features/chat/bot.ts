import { CHAT_HOST, chatTokenIn, WEBHOOK_HOSTS } from '../../../core/connectors/chat.ts'
import { baseOf } from '../../../core/connectors/domains.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import { isSameHash, sha256 } from '../../crypto/tokens.ts'
import type { Query } from '../../db/query.ts'
import { type ConnectorRow, listConnectors } from '../connectors/store.ts'
import { readSetting } from '../settings/stored-setting.ts'
import { type BotIdentity, type ChatBotRow, listChatBots } from './bot-store.ts'

/** Asks the chat provider whose bot a token is; null when it cannot be reached or does not say. Never rejects. */
export type IdentifyBot = (token: string) => Promise<BotIdentity | null>

export type ApprovalsBotDeps = {
  readonly orgId: string
  readonly keyring: Keyring
  /** Absent: tokens are only compared with each other. */
  readonly identifyBot?: IdentifyBot | undefined
}

/** The owner of the token of the approvals among the bots that were identified. */
export const APPROVALS_BOT = 'approvals'

type Credential = { readonly type: string; readonly token: string }

/**
 * Refuses a Connector's credential that is the approvals' bot: its agents could write and change messages as the bot
 * whose cards people answer. Throws `conflict`.
 */
export async function refuseApprovalsBot(q: Query, deps: ApprovalsBotDeps, given: Credential): Promise<void> {
  const own = await readSetting(q, deps, 'chat_bot_token')
  if (own === null) return
  const token = chatTokenOf(given)
  if (isSameToken(own, given.token) || (token !== null && isSameToken(own, token))) throw taken()
  if (token !== null && (await areSameBot(deps, own, token))) throw taken()
}

/** The same for a new token of the approvals, which a Connector may have already. */
export async function refuseConnectorsBot(q: Query, deps: ApprovalsBotDeps, token: string): Promise<void> {
  for (const row of await listConnectors(q)) {
    if (row.credential === null) continue
    const theirs = deps.keyring.open(row.credential, row.id)
    const found = chatTokenOf({ type: row.type, token: theirs })
    const isSame =
      isSameToken(token, theirs) ||
      (found !== null && (isSameToken(token, found) || (await areSameBot(deps, token, found))))
    if (isSame) throw connectorHas(row.name)
  }
}

/**
 * Ids of the connectors whose credential is the approvals' bot: the same token, or one that the provider named for the
 * same bot when it was last asked. They get no credential.
 */
export async function approvalsBotConnectors(
  q: Query,
  keyring: Keyring,
  given: { readonly rows: readonly ConnectorRow[]; readonly botToken: string | null },
): Promise<ReadonlySet<string>> {
  const { rows, botToken } = given
  if (botToken === null) return new Set()
  const bots = new Map((await listChatBots(q)).map((bot) => [bot.owner, bot]))
  const own = valid(bots.get(APPROVALS_BOT), botToken)
  const isApprovals = (row: ConnectorRow): boolean => {
    if (row.credential === null) return false
    const token = keyring.open(row.credential, row.id)
    const found = chatTokenOf({ type: row.type, token }) ?? token
    return (
      [token, found].some((one) => isSameToken(botToken, one)) ||
      isSameBot(own, valid(bots.get(row.id), token))
    )
  }
  return new Set(rows.filter(isApprovals).map(({ id }) => id))
}

/**
 * The token of the chat in a credential; null where it has none. A Connector of another type may lead to the chat, too,
 * and nothing but a token of the chat is sent there.
 */
export function chatTokenOf({ type, token }: Credential): string | null {
  return chatTokenIn(token) ?? (type === 'chat' ? bare(token) : null)
}

/** Connectors of other types that lead to the chat by their base URL, their upstream or their credential. */
export function connectorsToChat(keyring: Keyring, rows: readonly ConnectorRow[]): readonly ConnectorRow[] {
  const leads = ({ id, credential, spec }: ConnectorRow): boolean => {
    const urls = [spec.baseUrl, spec.upstream.url].filter((url) => url !== undefined)
    if (urls.some((baseUrl) => isChatHost(baseOf({ baseUrl })?.host ?? ''))) return true
    return credential !== null && chatTokenIn(keyring.open(credential, id)) !== null
  }
  return rows.filter((row) => row.type !== 'chat' && leads(row))
}

function isChatHost(host: string): boolean {
  return CHAT_HOST.test(host) && !WEBHOOK_HOSTS.includes(host)
}

function isSameBot(a: BotIdentity | null, b: BotIdentity | null): boolean {
  if (a === null || b === null || a.teamId === null || a.teamId !== b.teamId) return false
  return (a.botId !== null && a.botId === b.botId) || (a.userId !== null && a.userId === b.userId)
}

/** So many connectors that lead to the chat are told apart by name; the others get no credential. */
export const MAX_CONNECTORS_TO_CHAT = 500

/** Why a connector beyond them gets no credential. */
export const TOO_MANY_TO_CHAT = `More than ${MAX_CONNECTORS_TO_CHAT} Connectors of other types lead to the chat, where approvals are answered in a channel. Make them of type chat, or remove some.`

/** What a warning of such a connector says. */
export const APPROVALS_BOT_WARNING =
  'The token belongs to the bot that shows approvals in the chat, so no request is sent with it. Give agents an app of their own in the chat, and the Connector the token of that app.'

async function areSameBot({ identifyBot }: ApprovalsBotDeps, a: string, b: string): Promise<boolean> {
  if (identifyBot === undefined) return false
  const [one, other] = await Promise.all([identifyBot(a), identifyBot(b)])
  return isSameBot(one, other)
}

function isSameToken(a: string, b: string): boolean {
  return isSameHash(sha256(bare(a)), sha256(bare(b)))
}

/** Without what may stand around a token where it is pasted. */
function bare(token: string): string {
  return token.trim().replace(/^bearer\s+/i, '')
}

function valid(bot: ChatBotRow | undefined, token: string): ChatBotRow | null {
  return bot !== undefined && isSameHash(bot.tokenSha256, sha256(token)) ? bot : null
}

function taken(): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail:
      'This token belongs to the bot that shows approvals in the chat: agents could change the cards that people answer. Make an app of its own for agents, and give the Connector its token.',
  })
}

function connectorHas(name: string): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail: `This token belongs to the same bot as that of the connector ${name}: its agents could change the cards that people answer. Make an app of its own for approvals, and set its token here.`,
  })
}
