import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { replyNever } from '../support/recorder.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

let vendors: Vendors
let laptop: Laptop
let agent: TestAgent

beforeAll(async () => {
  vendors = await startVendors()
  laptop = await startLaptop({ database: 'worker', manifests: { 'vendors.yaml': vendors.manifests } })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
})

const MERGE = {
  method: 'PUT',
  host: 'api.github.com',
  target: '/repos/acme/site/pulls/7/merge',
  headers: [['Content-Type', 'application/json']],
  body: '{"merge_method":"squash"}',
} as const

type Card = { readonly id: string; readonly status: string }
type Row = { readonly id: string; readonly note: string | null; readonly status: number | null }

async function pendingCard(): Promise<Card> {
  return eventually('a pending approval', async () => {
    const { body } = await laptop
      .api('GET', '/api/dashboard/proxy-approvals?status=pending')
      .catch(() => ({ body: {} }))
    return ((body as { approvals?: Card[] }).approvals ?? [])[0] ?? null
  })
}

test('a hold outlives the death of control plane and gateway: approved by the command line, the retry passes once', async () => {
  const first = agent.send(MERGE).catch((error: Error) => error)
  const card = await pendingCard()
  await Promise.all([laptop.crash('controlplane/main'), laptop.crash('sidecar/main')])
  await first
  expect(vendors.recorder.seen).toHaveLength(0)

  const approved = await eventually('the command line answers', async () => {
    const result = await laptop.cli(['approvals', 'approve', card.id, '--note', 'after the crash'])
    return result.code === 0 ? result : null
  })
  expect(approved.stdout).toContain('approved')

  const retry = await eventually('the retry', async () => {
    const answer = await agent.send(MERGE).catch(() => null)
    return answer !== null && answer.status !== 503 ? answer : null
  })
  expect(retry.status).toBe(200)
  expect(vendors.recorder.seen).toHaveLength(1)

  const next = agent.send(MERGE)
  const anew = await pendingCard()
  expect(anew.id).not.toBe(card.id)
  await laptop.cli(['approvals', 'deny', anew.id])
  expect((await next).status).toBe(403)
  expect(vendors.recorder.seen).toHaveLength(1)
})

test('the death of the gateway between intent and result leaves one record that says unknown, and nothing is sent again', async () => {
  vendors.recorder.answerWith(replyNever())
  const before = vendors.recorder.seen.length
  const issue = {
    method: 'POST',
    host: 'api.github.com',
    target: '/repos/acme/site/issues',
    headers: [['Content-Type', 'application/json']],
    body: '{"title":"x"}',
  } as const
  const lost = agent.send(issue).catch((error: Error) => error)
  await vendors.recorder.received(before + 1)
  await laptop.crash('sidecar/main')
  expect(await lost).toBeInstanceOf(Error)

  const rows = await eventually('the unknown record', async () => {
    const { body } = await laptop.api('GET', '/api/dashboard/traffic?action_type=codehost.issue.create')
    const found = body['traffic'] as Row[]
    return found.length > 0 ? found : null
  })
  expect(rows).toHaveLength(1)
  expect(rows[0]).toMatchObject({ note: 'unknown', status: null })
  expect(vendors.recorder.seen.length).toBe(before + 1)
  expect(readdirSync(join(laptop.data, 'gateway/journal')).length).toBeLessThanOrEqual(2)
})
