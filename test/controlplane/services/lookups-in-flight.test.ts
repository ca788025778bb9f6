import { expect, test } from 'vitest'
import type { Db } from '../../../controlplane/db/query.ts'
import { createIdentities } from '../../../controlplane/features/authentication/service.ts'

/** A database whose answers wait for `answer`. */
function database() {
  const waiting: Array<() => void> = []
  const query: Db['query'] = async () => {
    await new Promise<void>((resolve) => waiting.push(resolve))
    return { rows: [], rowCount: 0 }
  }
  return { db: { query } as Db, waiting, answer: () => waiting.splice(0).map((resolve) => resolve()) }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

const KINDS = ['gateway tokens', 'sessions', 'approver keys'] as const

function lookUp(kind: (typeof KINDS)[number], db: Db) {
  const identities = createIdentities({
    ...{
      db,
      podToken: null,
      operatorToken: null,
      clusterCallers: null,
      confirmAccess: async () => 'unchanged',
    },
  })
  return async (secret: string, address = ''): Promise<unknown> => {
    if (kind === 'sessions') return identities.session([secret], undefined, false, address)
    if (kind === 'approver keys') return identities.approverKey(`svc_user_${secret}`, address)
    return identities.gatewayToken(secret, false, address)
  }
}

test.each(KINDS)(
  'a flood of unknown %s leaves connections of the pool to the kill switch and to heartbeats',
  async (kind) => {
    const { db, waiting, answer } = database()
    const show = lookUp(kind, db)
    const shown = Array.from({ length: 500 }, (_, n) => show(`wrong${n}`))
    await turn()
    expect(waiting.length).toBeGreaterThan(0)
    expect(waiting.length).toBeLessThanOrEqual(3)
    const all = Promise.all(shown)
    let isDone = false
    void all.finally(() => {
      isDone = true
    })
    while (!isDone) {
      answer()
      await turn()
    }
    expect(new Set(await all)).toEqual(new Set([undefined]))
  },
)

test.each(KINDS)(
  'a flood of unknown %s delays the look-ups of its own network, and others by at most one turn',
  async (kind) => {
    const { db, waiting, answer } = database()
    const show = lookUp(kind, db)
    const flood: Promise<unknown>[] = []
    for (let n = 0; n < 2_000; n++) flood.push(show(`wrong${n}`, `2001:db8::${n.toString(16)}`))
    await turn()
    let isAnswered = false
    const other = show('right', '203.0.113.9').finally(() => {
      isAnswered = true
    })
    let answers = 0
    while (!isAnswered) {
      answers += answer().length
      await turn()
    }
    // Those that ran, one of the flood whose turn it was, and its own.
    expect(answers).toBeLessThanOrEqual(9)
    void other
    let isDone = false
    void Promise.all(flood).finally(() => {
      isDone = true
    })
    while (!isDone) {
      answer()
      await turn()
    }
    expect(waiting).toEqual([])
  },
)
