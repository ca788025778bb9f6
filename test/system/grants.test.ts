import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
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

const merge = (number: number) =>
  agent.json({
    ...{ method: 'PUT', host: 'api.github.com', target: `/repos/acme/site/pulls/${number}/merge` },
    headers: [['Content-Type', 'application/json']],
    body: JSON.stringify({ commit_title: `Merge ${number}` }),
  })

async function chaperone(...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await laptop.cli(['approvals', ...args])
  return stdout + stderr
}

const pending = () =>
  eventually('an approval is pending', async () => /apv_\w+/.exec(await chaperone('ls'))?.[0] ?? null)

const grantIn = (text: string) => /grt_\w+/.exec(text)?.[0] ?? 'no grant'

/** Calls `request_access` as an agent does, and returns the text of the result. */
async function requestAccess(input: object): Promise<string> {
  const { port, proxyAuthorization } = agent.target
  const headers = {
    ...{ host: 'chaperone.internal', 'content-type': 'application/json' },
    ...(proxyAuthorization === undefined ? {} : { 'proxy-authorization': proxyAuthorization }),
  }
  const params = { name: 'request_access', arguments: input }
  const reply = await new Promise<unknown>((resolve, reject) => {
    const sent = request({ port, method: 'POST', path: 'http://chaperone.internal/mcp', headers }, (answer) =>
      resolve(json(answer)),
    )
    sent.on('error', reject)
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }))
  })
  const { result } = reply as { readonly result: { readonly content: ReadonlyArray<{ text: string }> } }
  return result.content.map(({ text }) => text).join()
}

test('an approver makes, reads and revokes a grant with the command line, whose texts name the next step', async () => {
  expect(await chaperone('grants')).toBe('No grants.\n')
  const held = merge(7)
  const id = await pending()
  expect(await chaperone('approve', id, '--for', '2h')).toContain('--for must be one of 15m, 1h, today')
  expect(await chaperone('approve', id, '--for', '1h', '--parameter', 'nope')).toContain(
    'no parameter nope that a grant can compare. It has repo, owner, number, commit_title',
  )
  const made = await chaperone('approve', id, '--for', '1h', '--uses', '2', '--parameter', 'number')
  const grant = grantIn(made)
  expect(made).toContain(`${id} is approved.`)
  expect(made).toMatch(
    /^Grant grt_\w+ approves 2 more requests of dev with codehost\.pr\.merge on acme\/site until \S+, with the same number and any other parameters, body and query\. To end the grant, run chaperone approvals revoke grt_\w+\.$/m,
  )
  expect((await held).status).toBe(200)
  expect((await merge(7)).status).toBe(200)
  expect(await chaperone('grants')).toMatch(/grt_\w+ +active +dev +codehost\.pr\.merge +acme\/site +1\/2/)
  expect(await chaperone('revoke', grant)).toBe(`${grant} is revoked.\n`)
  expect(await chaperone('revoke', grant)).toContain(`Grant ${grant} is revoked already.`)
  const other = merge(7)
  await chaperone('deny', await pending())
  expect((await other).status).toBe(403)
})

test('an agent requests access; an approval alone grants nothing, and a grant covers the requested actions', async () => {
  const asked = { action: 'codehost.pr.merge', reason: 'The release is due' }
  expect(await requestAccess({ ...asked, reason: '' })).toContain('reason: must have 1 to 500 characters')
  expect(await requestAccess({ ...asked, action: 'codehost.pr.mergee' })).toContain('There is no action')
  expect(await requestAccess(asked)).toContain('No access is granted yet.')
  const first = await pending()
  expect(await chaperone('approve', first, '--for', '1h')).toContain('--any-target')
  expect(await chaperone('approve', first)).toContain('has no more access than before')
  const held = merge(8)
  await chaperone('deny', await pending())
  expect((await held).status).toBe(403)
  await requestAccess(asked)
  const made = await chaperone('approve', await pending(), '--for', '1h', '--any-target')
  expect(made).toMatch(/^Grant grt_\w+ approves 10 more requests of dev .* on any target until/m)
  expect((await merge(9)).status).toBe(200)
  for (let open = 0; open < 3; open++) await requestAccess(asked)
  expect(await requestAccess(asked)).toContain('the maximum number of open access requests')
})
