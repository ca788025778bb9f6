import type { Keyring } from '../../crypto/keyring.ts'
import type { Sealed } from '../../crypto/sealed.ts'
import type { Db } from '../../db/query.ts'
import { listUnsealedWebhooks, type StoredWebhook, sealWebhooks } from '../notifications/webhook-store.ts'

/** The `webhook_url` of an action as it rests: its path may be the receiver's secret. */
export function sealWebhook(keyring: Pick<Keyring, 'seal'>, actionId: string, url: string): Sealed {
  return keyring.seal(url, place(actionId))
}

export function openWebhook(keyring: Pick<Keyring, 'open'>, actionId: string, stored: StoredWebhook): string {
  return typeof stored === 'string' ? stored : keyring.open(stored, place(actionId))
}

/** Seals what an older version has left in clear, in batches. Gives the number of addresses. */
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
