import { expect, it } from 'vitest'
import { effectsText } from '../../../core/wire/effects-text.ts'
import { JSON_BODY, LIST, MERGE, start } from './pipeline-world.ts'

it('shows the effect classes of a request on its card and in its record', async () => {
  const world = await start({ permissions: [['codehost.*', 'require_approval']] })
  await world.send({ ...MERGE, headers: JSON_BODY, body: '{}' })
  expect(world.holds[0]?.effects).toEqual(['merge'])
  expect(world.records[0]?.effects).toEqual(['merge'])
})

it('lists those of every action of the request once, in the order of the classes', async () => {
  const world = await start({ permissions: [['codehost.*', 'require_approval']] })
  const body = JSON.stringify({ ref: 'refs/heads/main', sha: 'a'.repeat(40), force: true })
  const target = '/repos/acme/site/git/refs/heads/main'
  await world.send({ method: 'PATCH', target, headers: JSON_BODY, body })
  expect(world.holds[0]?.effects).toContain('rewrite_history')
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

it('explains each class to the approver', () => {
  expect(effectsText({ effects: ['merge', 'unknown'] })).toBe(
    'merge: A change reaches a shared branch. unknown: The catalogue does not say what an action of it brings about.',
  )
  expect(effectsText({ effects: [] })).toBeNull()
  expect(effectsText({})).toBeNull()
})
