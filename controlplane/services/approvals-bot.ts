import { ChaperoneError } from '../../core/errors.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { isSameHash, sha256 } from '../crypto/tokens.ts'
import { type BotIdentity, type ChatBotRow, listChatBots } from '../store/chat-bots.ts'
import { type ConnectorRow, listConnectors } from '../store/connectors.ts'
import type { Query } from '../store/query.ts'
import { readSetting } from './stored-setting.ts'

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
  if (isSameToken(own, given.token)) throw taken()
  if (given.type === 'chat' && (await areSameBot(deps, own, given.token))) throw taken()
}

/** The same for a new token of the approvals, which a Connector may have already. */
export async function refuseConnectorsBot(q: Query, deps: ApprovalsBotDeps, token: string): Promise<void> {
  for (const row of await listConnectors(q)) {
    if (row.credential === null) continue
    const theirs = deps.keyring.open(row.credential, row.id)
    const isSame =
      isSameToken(token, theirs) || (row.type === 'chat' && (await areSameBot(deps, token, theirs)))
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
    return isSameToken(botToken, token) || isSameBot(own, valid(bots.get(row.id), token))
  }
  return new Set(rows.filter(isApprovals).map(({ id }) => id))
}

export function isSameBot(a: BotIdentity | null, b: BotIdentity | null): boolean {
  if (a === null || b === null || a.teamId === null || a.teamId !== b.teamId) return false
  return (a.botId !== null && a.botId === b.botId) || (a.userId !== null && a.userId === b.userId)
}

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
