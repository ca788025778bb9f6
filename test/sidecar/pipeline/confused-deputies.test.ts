import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type GoldenCase, USUAL_HOST } from '../../core/connectors/golden.ts'
import { type GitObject, idOf, packOf, pushBody } from '../../support/git-pack.ts'
import { replyJson } from '../../support/recorder.ts'
import { expectedActions, listedActions } from './listed-actions.ts'
import { start } from './pipeline-world.ts'
import { STARTER } from './starter-rules.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules, World } from './test-world.ts'

/** Requests by which a code host, a chat or a payment provider does more than their operation is known for. */
const CASES: readonly GoldenCase[] = JSON.parse(
  readFileSync(new URL('../../golden/requests/confused-deputies.json', import.meta.url), 'utf8'),
)

const inputOf = ({ connector, request }: GoldenCase): TestExchangeInput => ({
  ...{ method: request.method, host: USUAL_HOST[connector], target: request.target },
  headers: request.headers.flat(),
  ...(request.body === undefined ? {} : { body: request.body }),
})

/** With an MCP server that the agents may use. */
const WITH_MCP: Rules = {
  ...STARTER,
  connectors: [...(STARTER.connectors ?? []), { type: 'mcp', name: 'tools', domains: [USUAL_HOST.mcp] }],
  permissions: [...(STARTER.permissions ?? []), ['mcp.*', 'allow']],
}

/**
 * Every channel belongs to the own organization alone, and every commit is on the default branch, so that no request is
 * stopped for its channel or its commit.
 */
const INTERNAL = replyJson({ ok: true, channel: { is_ext_shared: false }, status: 'behind' })

/** The card, if there is one, and the record name the actions with target and effect. */
function expectNamed({ holds: [card], records: [record] }: World, one: GoldenCase): void {
  const { action, actions, target = null, effects = [] } = one.expect
  expect(record?.effects ?? []).toEqual(expect.arrayContaining([...effects]))
  const requested = record?.audit?.requested ?? {}
  if (actions === undefined) expect(requested['resource']).toMatchObject({ target })
  else expect(listedActions(requested['parameters'])).toEqual(expectedActions(one))
  if (card === undefined) return
  expect(card.effects).toEqual(record?.effects ?? [])
  if (actions === undefined) expect(card).toMatchObject({ action_type: action, target })
  else expect(listedActions(card.parameters)).toEqual(expectedActions(one))
}

describe('under the rules of the first start', () => {
  it.each(CASES.map((one) => [`${one.connector}: ${one.name}`, one] as const))(
    '%s is not free',
    async (_, one) => {
      const world = await start(WITH_MCP)
      world.upstream.answerLookUpsWith(INTERNAL)
      world.state.onHold = async () => ({ kind: 'denied', approvalId: 'apv_1', note: null })
      const { reply } = await world.send(inputOf(one))
      // An MCP client gets the refusal as an error of JSON-RPC.
      if (one.connector === 'mcp') expect(reply.json()['error']).toBeDefined()
      else expect(reply.status).toBe(403)
      expect(world.records[0]?.decision).not.toBe('ALLOW')
      expect(world.upstream.seen).toEqual([])
      expect(world.records).toHaveLength(1)
      const { action, actions = [action] } = one.expect
      expect(world.records[0]?.actions ?? [world.records[0]?.action_type]).toEqual(
        expect.arrayContaining([...actions]),
      )
      expectNamed(world, one)
    },
  )

  it('a push with a workflow file is not free', async () => {
    const objectOf = (type: GitObject['type'], data: Buffer): GitObject => ({ type, data })
    const treeOf = (mode: string, name: string, of: GitObject) =>
      objectOf('tree', Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(idOf(of), 'hex')]))
    const file = objectOf('blob', Buffer.from('on: push'))
    const workflows = treeOf('100644', 'x.yml', file)
    const github = treeOf('40000', 'workflows', workflows)
    const root = treeOf('40000', '.github', github)
    const old = '1'.repeat(40)
    const commit = objectOf(
      'commit',
      Buffer.from(`tree ${idOf(root)}\nparent ${old}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n`),
    )
    const moves = [{ before: old, after: idOf(commit), ref: 'refs/heads/main' }]
    const world = await start(STARTER)
    world.state.onHold = async () => ({ kind: 'denied', approvalId: 'apv_1', note: null })
    const { reply } = await world.send({
      ...{ method: 'POST', host: 'github.com', target: '/acme/site.git/git-receive-pack' },
      headers: ['Content-Type', 'application/x-git-receive-pack-request'],
      body: pushBody(moves, packOf([commit, root, github, workflows, file])),
    })
    expect(reply.status).toBe(403)
    expect(world.upstream.seen).toEqual([])
    expect(world.records[0]).toMatchObject({ action_type: 'codehost.git.push', decision: 'DENY' })
  })

  it.each(['Impersonate-User', 'Sudo', 'X-Forwarded-User'])(
    '%s is refused on every request',
    async (name) => {
      for (const target of ['/repos/acme/site/issues', '/repos/acme/site']) {
        const world = await start(STARTER)
        const { reply } = await world.send({ target, headers: [name, 'somebody'] })
        expect(reply.status).toBe(400)
        expect(world.upstream.seen).toEqual([])
        expect(world.records).toHaveLength(1)
      }
    },
  )

  it('what an MCP server offers, a tool that reads, and the folders of the client are', async () => {
    const json = ['Content-Type', 'application/json']
    const clientInfo = { name: 'c', version: '1' }
    for (const message of [
      { method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } },
      { method: 'resources/list', params: {} },
      { method: 'resources/read', params: { uri: 'file:///readme.md' } },
      { method: 'prompts/get', params: { name: 'p' } },
      { method: 'tools/list', params: {} },
      { method: 'tools/call', params: { name: 'read_file', arguments: { path: 'x' } } },
      { result: { roots: [{ uri: 'file:///home/a/project', name: 'project' }] } },
    ]) {
      const world = await start(WITH_MCP)
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })
      const { reply } = await world.send({
        method: 'POST',
        host: USUAL_HOST.mcp,
        target: '/mcp',
        headers: json,
        body,
      })
      expect(reply.status, body).toBe(200)
    }
  })

  it('everyday work is', async () => {
    const json = ['Content-Type', 'application/json']
    for (const [host, target, body] of [
      [
        'api.github.com',
        '/repos/acme/site/issues',
        { title: 'Mail to dev@example.com fails', body: 'see /docs/claude.md' },
      ],
      ['api.github.com', '/repos/acme/site/git/refs', { ref: 'refs/heads/x', sha: 'a'.repeat(40) }],
      ['slack.com', '/api/chat.postMessage', { channel: 'C1', text: 'done' }],
    ] as const) {
      const world = await start(STARTER)
      world.upstream.answerLookUpsWith(INTERNAL)
      const { reply } = await world.send({
        method: 'POST',
        host,
        target,
        headers: json,
        body: JSON.stringify(body),
      })
      expect(reply.status, target).toBe(200)
    }
  })
})
