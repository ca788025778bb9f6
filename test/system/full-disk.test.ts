import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

let vendors: Vendors
beforeAll(async () => {
  vendors = await startVendors()
})
afterAll(() => vendors?.recorder.close())

/** A file system of its own for the gateway's folder, so that a full disk is really full. Null where one may not. */
function smallDisk(): { readonly data: string; remove(): void } | null {
  const root = mkdtempSync(join(tmpdir(), 'chaperone-disk-'))
  const data = join(root, 'data')
  const gateway = join(data, 'gateway')
  mkdirSync(gateway, { recursive: true })
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=700', 'tmpfs', gateway])
  const remove = () => rmSync(root, { recursive: true, force: true })
  if (status === 0) {
    const unmountAndRemove = () => {
      execFileSync('umount', [gateway])
      remove()
    }
    return { data, remove: unmountAndRemove }
  }
  remove()
  return null
}

const disk = smallDisk()
afterAll(() => disk?.remove())

describe.skipIf(disk === null)('a full disk (skipped without the right to mount one)', () => {
  let full: Laptop
  let fullAgent: TestAgent
  const filling = join(disk?.data ?? '', 'gateway', 'filling')
  const send = (method: string, target: string) =>
    fullAgent.json({
      method,
      host: 'api.github.com',
      target,
      ...(method === 'POST' ? { body: '{"title":"x"}' } : {}),
    })

  beforeAll(async () => {
    full = await startLaptop({
      database: 'worker',
      data: disk?.data ?? '',
      manifests: { 'vendors.yaml': vendors.manifests },
      keepData: true,
    })
    fullAgent = testAgent(full)
  })
  afterAll(async () => full?.stop())

  test('stops forwarding and says what to free; refusals and the kill switch still work; free space restores it', async () => {
    expect((await send('POST', '/repos/acme/site/issues')).status).toBe(201)
    spawnSync('dd', ['if=/dev/zero', `of=${filling}`, 'bs=4096'])
    const before = vendors.recorder.seen.length
    const refused = await eventually('a refusal', async () => {
      const answer = await send('POST', '/repos/acme/site/issues')
      return answer.status === 503 ? answer : null
    })
    expect(refused.body['message']).toMatch(/journal.*full or cannot be written.*Free disk space/)
    const sent = vendors.recorder.seen.length
    expect((await send('POST', '/repos/acme/site/issues')).status).toBe(503)
    expect(vendors.recorder.seen.length).toBe(sent)
    expect(sent - before).toBeLessThan(200)
    expect(await send('DELETE', '/repos/acme/site/git/refs/heads/main')).toMatchObject({ status: 403 })
    expect((await full.cli(['kill', 'on', '--reason', 'disk'])).stdout).toContain(
      '1 of 1 gateway acknowledged',
    )
    expect(await send('POST', '/repos/acme/site/issues')).toMatchObject({
      status: 403,
      body: { error: 'Kill switch active: disk' },
    })
    expect((await full.cli(['kill', 'off'])).code).toBe(0)
    const doctor = await full.cli(['doctor'])
    expect(doctor.stdout).toMatch(/PROBLEM {2}journal: the journal is unwritable.*\n.*free disk space/)
    expect((await full.cli(['status'])).stdout).toContain('journal unwritable')
    expect(doctor.code).toBe(1)
    rmSync(filling)
    await eventually('forwarding again', async () =>
      (await send('POST', '/repos/acme/site/issues')).status === 201 ? true : null,
    )
  })
})
