import { CHAT_HOST, chatTokenIn, WEBHOOK_HOSTS } from '../../../../core/connectors/chat.ts'
import { baseOf } from '../../../../core/connectors/domains.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import { sha256 } from '../../../../runtime/sha256.ts'
import type { Keyring } from '../../../crypto/keyring.ts'
import { isSameHash } from '../../../crypto/tokens.ts'
import type { Query } from '../../../db/query.ts'
import { type ConnectorRow, listConnectors } from '../../connectors/rows.ts'
import { readSetting } from '../../settings/rows.ts'
import { type BotIdentity, type ChatBotRow, listChatBots } from './store.ts'

/**
 * Resolves the bot of a chat token. Resolves to null when the chat provider is unreachable or returns no identity.
 * Never rejects.
 */
export type IdentifyBot = (token: string) => Promise<BotIdentity | null>

export type ApprovalsBotDeps = {
  readonly orgId: string
  readonly keyring: Keyring
  /** Resolves the bot of a chat token. When absent, only equal tokens count as tokens of the same bot. */
  readonly identifyBot?: IdentifyBot | undefined
}

/** Value of `owner` in the table of bots for the bot that shows approval cards. */
export const APPROVALS_BOT = 'approvals'

type Credential = { readonly type: string; readonly token: string }

/**
 * Throws `conflict` when a Connector's credential belongs to the bot that shows approval cards. Otherwise agents of the
 * Connector could post and edit messages as this bot.
 */
export async function refuseApprovalsBot(q: Query, deps: ApprovalsBotDeps, given: Credential): Promise<void> {
  const own = await readSetting(q, deps, 'chat_bot_token')
  if (own === null) return
  const token = chatTokenOf(given)
  if (isSameToken(own, given.token) || (token !== null && isSameToken(own, token))) throw taken()
  if (token !== null && (await areSameBot(deps, own, token))) throw taken()
}

/** Throws `conflict` when the new chat token for approvals has the same bot as the credential of a Connector. */
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
 * Returns the ids of Connectors whose credential belongs to the bot that shows approvals: the same token, or a token
 * that the provider last identified as the same bot. Gateways do not receive the credentials of these Connectors.
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
 * Returns the chat token in a credential; null when the credential contains none. The credential of a Connector of
 * any type may contain a chat token, because the Connector may send requests to the chat.
 */
export function chatTokenOf({ type, token }: Credential): string | null {
  return chatTokenIn(token) ?? (type === 'chat' ? bare(token) : null)
}

/**
 * Returns the Connectors of types other than `chat` that can send requests to the chat: their base URL or upstream is
 * a chat host, or their credential is a chat token.
 */
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

/**
 * Maximum number of Connectors of other types that can send requests to the chat. The policies of the approvals
 * channel name these Connectors. Connectors beyond the limit get no credential.
 */
export const MAX_CONNECTORS_TO_CHAT = 500

/** Warning in the status of a Connector beyond `MAX_CONNECTORS_TO_CHAT`. */
export const TOO_MANY_TO_CHAT = `No credential is sent with this Connector, because more than ${MAX_CONNECTORS_TO_CHAT} Connectors with a type other than chat have hosts of the chat in which approvals are answered. Change the type of these Connectors to chat, or remove some of them.`

/** Warning in the status of a Connector whose token belongs to the bot that shows approvals. */
export const APPROVALS_BOT_WARNING =
  'The token belongs to the bot that shows approvals in the chat, so no request is sent with it. Create a separate chat app for agents, and set its token in the Connector.'

async function areSameBot({ identifyBot }: ApprovalsBotDeps, a: string, b: string): Promise<boolean> {
  if (identifyBot === undefined) return false
  const [one, other] = await Promise.all([identifyBot(a), identifyBot(b)])
  return isSameBot(one, other)
}

function isSameToken(a: string, b: string): boolean {
  return isSameHash(sha256(bare(a)), sha256(bare(b)))
}

/** Removes blanks and the scheme `Bearer`, which users may paste together with a token. */
function bare(token: string): string {
  return token.trim().replace(/^bearer\s+/i, '')
}

function valid(bot: ChatBotRow | undefined, token: string): ChatBotRow | null {
  return bot !== undefined && isSameHash(bot.tokenSha256, sha256(token)) ? bot : null
}

function taken(): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail:
      'This token belongs to the bot that shows approvals in the chat, so agents could change the approval cards. Create a separate chat app for agents, and set its token in the Connector.',
  })
}

function connectorHas(name: string): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail: `This token belongs to the same bot as that of the connector ${name}, so agents could change the approval cards. Create a separate chat app for approvals, and set its token here.`,
  })
}
