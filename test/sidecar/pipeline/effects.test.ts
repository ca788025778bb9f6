import { describe, expect, it } from 'vitest'
import { effectsText } from '../../../core/action/effects-text.ts'
import { type GitObject, idOf, packOf, pushBody } from '../../support/git-pack.ts'
import { replyJson } from '../../support/recorder.ts'
import { expectRefused, JSON_BODY, LIST, MERGE, start } from './pipeline-world.ts'

const OF_CODEHOST = { connector_type: 'codehost' } as const
const [NONE, OLD] = ['0'.repeat(40), '1'.repeat(40)]

it('shows the effect classes of a request on its card and in its record', async () => {
  const world = await start({ permissions: [['codehost.*', 'require_approval']] })
  await world.send({ ...MERGE, headers: JSON_BODY, body: '{}' })
  expect(world.holds[0]?.effects).toEqual(['merge'])
  expect(world.holds[0]?.effect).toBe('write')
  expect(world.records[0]?.effects).toEqual(['merge'])
})

it('lists those of every action of the request once, in the order of the classes', async () => {
  const world = await start({ permissions: [['codehost.*', 'require_approval']] })
  const body = JSON.stringify({ ref: 'refs/heads/main', sha: 'a'.repeat(40), force: true })
  const target = '/repos/acme/site/git/refs/heads/main'
  await world.send({ method: 'PATCH', target, headers: JSON_BODY, body })
  expect(world.holds[0]?.effects).toContain('rewrite_history')
  // The card lists the effect of each action.
  expect(world.holds[0]?.effect).toBeUndefined()
  expect(world.records[0]?.effects).toEqual(world.holds[0]?.effects)
})

it('says unknown where no row describes the request, and nothing where there are none', async () => {
  const world = await start({ permissions: [['codehost.*', 'allow']] })
  await world.send({
    method: 'POST',
    target: '/repos/acme/site/no/such/thing',
    headers: JSON_BODY,
    body: '{}',
  })
  expect(world.records[0]?.effects).toContain('unknown')
  await world.send(LIST)
  expect(world.records[1]?.effects).toBeNull()
})

describe('a push with a workflow in its pack', () => {
  const ci = treeOf('ci.yml', { type: 'blob', data: Buffer.from('on: push') })
  const folder = treeOf('workflows', ci)
  const root = treeOf('.github', folder)
  const tip: GitObject = {
    type: 'commit',
    data: Buffer.from(`tree ${idOf(root)}\nparent ${OLD}\nauthor a\ncommitter b\n\nm`),
  }
  const update = { before: OLD, after: idOf(tip), ref: 'refs/heads/main' }
  const push = {
    method: 'POST',
    target: '/acme/site.git/git-receive-pack',
    host: 'github.com',
    body: pushBody([update], packOf([tip, root, folder, ci])),
  }
  const plain = { ...push, body: pushBody([{ ...update, before: NONE, after: OLD }], packOf([])) }

  it('is held by a permission for code execution, and a push of a known commit is not', async () => {
    const world = await start({
      permissions: [
        ['codehost.*', 'allow'],
        ['effect:code_execution', 'require_approval', '*', OF_CODEHOST],
      ],
    })
    world.upstream.answerLookUpsWith(replyJson({ status: 'behind' }))
    await world.send(push)
    expect(world.holds[0]).toMatchObject({ effects: ['code_execution'] })
    await world.send(plain)
    expect(world.holds).toHaveLength(1)
  })

  it('is denied by a policy for code execution', async () => {
    const conditions = ['"code_execution" in action.effects']
    const world = await start({
      permissions: [['codehost.*', 'allow']],
      policies: [{ document: { rules: [{ name: 'no workflows', conditions, decision: 'deny' }] } }],
    })
    const { reply } = await world.send(push)
    expect(reply.status).toBe(403)
    expectRefused(world)
    expect(reply.text()).toContain('has the folder .github/workflows')
  })

  it('is not read for its trees where no rule uses the class', async () => {
    const world = await start({
      permissions: [
        ['codehost.*', 'allow'],
        ['effect:merge', 'deny', '*', OF_CODEHOST],
      ],
    })
    await world.send(push)
    expect(world.records[0]).toMatchObject({ action_type: 'codehost.git.push', decision: 'ALLOW' })
    expect(world.records[0]?.effects).toBeNull()
  })
})

function treeOf(name: string, of: GitObject): GitObject {
  const mode = of.type === 'tree' ? '40000' : '100644'
  return {
    type: 'tree',
    data: Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(idOf(of), 'hex')]),
  }
}

it('explains each class to the approver', () => {
  expect(effectsText({ effects: ['merge', 'unknown'] })).toBe(
    'merge: A change reaches a shared branch. unknown: This version has no description of the effect class.',
  )
  expect(effectsText({ effects: [] })).toBeNull()
  expect(effectsText({})).toBeNull()
})
