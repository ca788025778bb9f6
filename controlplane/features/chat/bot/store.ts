import type { Query } from '../../../db/query.ts'

/**
 * The bot of a chat token. All fields are null when the provider returned no identity, for example for a revoked token.
 */
export type BotIdentity = {
  readonly teamId: string | null
  readonly botId: string | null
  readonly userId: string | null
}

/**
 * The bot of a stored chat token. `owner`: `approvals`, or the id of a Connector. `tokenSha256`: hash of the token; the
 * row is invalid for any other token of the owner.
 */
export type ChatBotRow = BotIdentity & { readonly owner: string; readonly tokenSha256: Buffer }

export async function listChatBots(q: Query): Promise<readonly ChatBotRow[]> {
  const { rows } = await q.query<ChatBotRow>(
    `select owner, token_sha256 as "tokenSha256", team_id as "teamId", bot_id as "botId", user_id as "userId"
     from chat_bots`,
    [],
  )
  return rows
}

export async function upsertChatBot(q: Query, row: ChatBotRow): Promise<void> {
  await q.query(
    `insert into chat_bots (owner, token_sha256, team_id, bot_id, user_id) values ($1, $2, $3, $4, $5)
     on conflict (owner) do update set token_sha256 = excluded.token_sha256, team_id = excluded.team_id,
       bot_id = excluded.bot_id, user_id = excluded.user_id, checked_at = clock_timestamp()`,
    [row.owner, row.tokenSha256, row.teamId, row.botId, row.userId],
  )
}
