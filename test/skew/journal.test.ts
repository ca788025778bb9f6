import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { replyJson, replyNever } from '../support/recorder.ts'
import { frozenPrograms, type Programs, treePrograms } from './skew-programs.ts'
import { type SkewWorld, startSkewWorld } from './skew-world.ts'

let tree: Programs
let frozen: Programs

beforeAll(async () => {
  tree = await treePrograms()
  frozen = frozenPrograms()
})
afterAll(() => frozen?.[Symbol.dispose]())

type Row = {
  readonly id: string
  readonly seq: number
  readonly path: string | null
  readonly decision: string
  readonly status: number | null
  readonly note: string | null
}

async function rowsOf(world: SkewWorld): Promise<readonly Row[]> {
  const { traffic } = (await world.api('/api/dashboard/traffic?limit=500')) as {
    readonly traffic: readonly Row[]
  }
  return traffic.filter(({ path }) => path?.startsWith('/repos/') === true).toSorted((a, b) => a.seq - b.seq)
}

test('this version reads the journal of a crashed gateway of the frozen version, and uploads each record once', async () => {
  await using world = await startSkewWorld({ controlPlane: tree, gateway: frozen })
  const { recorder } = world.everything
  const send = (repository: string) =>
    world.line.send({
      ...{ method: 'POST', host: 'api.github.com', target: `/repos/acme/${repository}/issues` },
      ...{ headers: [['Content-Type', 'application/json']], body: '{"title":"x"}' },
    })
  recorder.answerWith(replyJson({ ok: true }))
  expect((await send('uploaded')).status).toBe(200)
  await eventually('the first record is uploaded', async () =>
    (await rowsOf(world)).length > 0 ? true : null,
  )

  // Without a control plane the records stay in the journal. The last request has an intent, and no result.
  await world.disconnectGateway()
  for (const repository of ['one', 'two']) expect((await send(repository)).status).toBe(200)
  expect((await send('..')).status).toBe(400)
  recorder.answerWith(replyNever())
  const lost = send('lost').catch((error: Error) => error)
  await recorder.received(4)
  expect(await rowsOf(world)).toHaveLength(1)
  await world.replaceGateway(tree)
  expect(await lost).toBeInstanceOf(Error)

  const rows = await eventually('the records of the journal', async () => {
    const found = await rowsOf(world)
    return found.length < 5 ? null : found
  })
  expect(rows.map(({ path, decision, status, note }) => [path, decision, status, note])).toEqual([
    ['/repos/acme/uploaded/issues', 'ALLOW', 200, null],
    ['/repos/acme/one/issues', 'ALLOW', 200, null],
    ['/repos/acme/two/issues', 'ALLOW', 200, null],
    ['/repos/acme/../issues', 'DENY', 400, null],
    ['/repos/acme/lost/issues', 'ALLOW', null, 'unknown'],
  ])
  expect(new Set(rows.map(({ id }) => id)).size).toBe(5)
  expect(world.log()).toContain('requests of a crashed process were recorded with unknown outcome')
  expect(recorder.seen).toHaveLength(4)
}, 240_000)
