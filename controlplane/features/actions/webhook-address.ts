import type { Keyring } from '../../crypto/keyring.ts'
import type { Sealed } from '../../crypto/sealed.ts'
import type { Db } from '../../db/query.ts'
import { listUnsealedWebhooks, type StoredWebhook, sealWebhooks } from '../notifications/webhook-store.ts'

/** Seals the `webhook_url` of an action for storage: its path may hold a secret of the receiver. */
export function sealWebhook(keyring: Pick<Keyring, 'seal'>, actionId: string, url: string): Sealed {
  return keyring.seal(url, place(actionId))
}

export function openWebhook(keyring: Pick<Keyring, 'open'>, actionId: string, stored: StoredWebhook): string {
  return typeof stored === 'string' ? stored : keyring.open(stored, place(actionId))
}

/** Seals, in batches, the addresses that older versions stored in plain text. Returns their number. */
export async function sealOldWebhooks({ db, keyring }: { db: Db; keyring: Keyring }): Promise<number> {
  for (let sealed = 0; ; ) {
    const done = await db.tx(async (q) => {
      const rows = await listUnsealedWebhooks(q)
      await sealWebhooks(
        q,
        rows.map(({ id, url }) => ({ id, sealed: sealWebhook(keyring, id, url) })),
      )
      return rows.length
    })
    sealed += done
    if (done === 0) return sealed
  }
}

function place(actionId: string): string {
  return `webhook ${actionId}`
}
