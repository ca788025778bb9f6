import { type Logger, pino } from 'pino'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import type { Deliver } from '../../../controlplane/features/notifications/delivery.ts'
import { Outbox } from '../../../controlplane/features/notifications/outbox.ts'
import { createSender, type SenderOptions } from '../../../controlplane/features/notifications/send.ts'
import {
  createNotifications,
  type Notification,
} from '../../../controlplane/features/notifications/service.ts'
import { createWebhookDelivery } from '../../../controlplane/features/notifications/webhook.ts'
import { createWebhookSecret } from '../../../controlplane/features/notifications/webhook-secret.ts'
import { parseCidr } from '../../../core/request/address.ts'
import type { TestPostgres } from '../../support/postgres.ts'

const LOOPBACK = ['127.0.0.0/8'].flatMap((text) => parseCidr(text) ?? [])
export const TOKEN = 'eyJhbGciOiJFZERTQSJ9.canary-token.signature'

export type World = AsyncDisposable & {
  readonly db: Db
  readonly orgId: string
  readonly keyring: ReturnType<typeof createKeyring>
  readonly secret: ReturnType<typeof createWebhookSecret>
  readonly notifications: ReturnType<typeof createNotifications>
  /** One process that sends. */
  outbox(options?: OutboxOptions): Promise<Outbox>
  enqueue(changes: Partial<Notification>): Promise<void>
  states(): Promise<readonly string[]>
  /** Everything logged so far. */
  log(): string
}

export type OutboxOptions = SenderOptions & {
  readonly now?: () => Date
  readonly tokenFor?: (id: string) => Promise<string | null>
}

/** A fresh installation's outbox on a real database. */
export async function startWorld(postgres: TestPostgres): Promise<World> {
  const database = await postgres.createMigratedDatabase()
  const lines: string[] = []
  const log: Logger = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) })
  const db = await openDb({ url: database.url, log })
  await migrate(db)
  const { id: orgId } = await db.tx((q) => ensureOrg(q))
  const keyring = createKeyring(Buffer.alloc(32, 9))
  const secret = createWebhookSecret({ db, orgId, keyring })
  const notifications = createNotifications({ db, orgId, keyring })
  const started: Outbox[] = []
  return {
    ...{ db, orgId, keyring, secret, notifications },
    async outbox({ now, tokenFor = async () => TOKEN, ...sender } = {}) {
      const send = createSender({ reach: LOOPBACK, ...sender })
      const deliver = {
        webhook: createWebhookDelivery({ send, keyring, secret, tokenFor }),
        ...{ chat_post: unused, chat_update: unused, chat_tell: unused, hold_notice: unused },
      }
      const outbox = await Outbox.start({ db, log, deliver, random: () => 0, ...(now && { now }) })
      started.push(outbox)
      return outbox
    },
    enqueue: (changes) =>
      db.tx((q) =>
        notifications.enqueue(q, {
          ...{ orgId, url: 'http://127.0.0.1:1/', event: 'action.allowed', actionRequestId: 'act_1' },
          ...{ status: 'allowed', decision: { outcome: 'allow' }, actionSpec: { type: 'a.b' } },
          ...changes,
        }),
      ),
    async states() {
      const { rows } = await notifications.list({ limit: 500, offset: 0 })
      return rows.map((row) => row.state).reverse()
    },
    log: () => lines.join(''),
    async [Symbol.asyncDispose]() {
      for (const outbox of started) await outbox[Symbol.asyncDispose]()
      await db.close()
    },
  }
}

const unused: Deliver = async () => {
  throw new Error('no chat here')
}
