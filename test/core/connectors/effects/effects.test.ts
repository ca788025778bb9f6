import { describe, expect, test } from 'vitest'
import { createCatalogue } from '../../../../core/connectors/catalogue.ts'
import { readEffects } from '../../../../core/connectors/effects/effect-table.ts'
import { effectEntries, effectsOf } from '../../../../core/connectors/effects/effects.ts'
import type { ConnectorEntry } from '../../../../core/wire/gateway/sync.ts'
import { boundOf, nameRequest, rawOf } from '../golden.ts'

const catalogue = createCatalogue()
const CLASSIFIED = ['codehost', 'llm_a', 'llm_b', 'llm_c', 'payments', 'chat']
/** A read whose name or path speaks of secrets is classified by name, never by the line for all other reads. */
const SECRETIVE = /(secret|token|credential|private_key|jit_config)/

function classesOf(type: string, effect: 'read' | 'compute' | 'write' = 'write') {
  return effectsOf({ type, connector: type.split('.')[0] ?? '', effect })
}

describe('effect classes of the catalogue', () => {
  test.each(CLASSIFIED)('every operation of %s is matched by exactly one line of the table', (connector) => {
    const entries = effectEntries(connector)
    const rows = catalogue.rows(connector)
    const lines = (name: string) => entries.filter(({ names }) => names.includes(name)).length
    const unmatched = rows.filter(({ type, effect }) => {
      const count = lines(type.slice(connector.length + 1))
      return effect === 'read' ? count > 1 : count !== 1
    })
    expect(unmatched.map(({ type }) => type)).toEqual([])
    expect(entries.filter(({ isForReads }) => isForReads)).toHaveLength(1)
  })

  test.each(CLASSIFIED)(
    'no line of %s names an action that no operation has, and every line has a reason',
    (connector) => {
      const known = new Set(catalogue.rows(connector).map(({ type }) => type.slice(connector.length + 1)))
      const entries = effectEntries(connector)
      expect(entries.flatMap(({ names }) => names).filter((name) => !known.has(name))).toEqual([])
      expect(entries.filter(({ reason }) => !/^[A-Z].{20,}\.$/.test(reason))).toEqual([])
    },
  )

  test.each(CLASSIFIED)('a read of %s that speaks of secrets is classified by its name', (connector) => {
    const named = new Set(effectEntries(connector).flatMap(({ names }) => names))
    const forgotten = catalogue
      .rows(connector)
      .map(({ type, effect }) => ({ name: type.slice(connector.length + 1), effect }))
      .filter(({ name, effect }) => effect === 'read' && SECRETIVE.test(name) && !named.has(name))
    expect(forgotten.map(({ name }) => name)).toEqual([])
  })

  test('one class covers the same effect on REST, GraphQL and git', () => {
    expect(classesOf('codehost.pr.merge')).toEqual(['merge'])
    expect(classesOf('codehost.branch.merge')).toEqual(['merge'])
    expect(classesOf('codehost.git.force_push')).toEqual(['rewrite_history'])
    expect(classesOf('codehost.issue.create')).toEqual([])
    expect(classesOf('payments.app_secret.find', 'read')).toEqual(['credential_out'])
  })

  test('the classes of a request that no row describes are not known, and those of tools are those that are declared', () => {
    expect(classesOf('codehost.unmapped.post')).toBeNull()
    expect(classesOf('codehost.unmapped.get', 'read')).toBeNull()
    expect(classesOf('codehost.graphql.aMutationOfNextYear')).toBeNull()
    expect(classesOf('llm_a.websocket.open')).toBeNull()
    expect(classesOf('mcp.rpc.unknown')).toBeNull()
    expect(classesOf('mcp.tools.merge')).toEqual([])
    expect(classesOf('acme.deploy')).toEqual([])
    const declared = {
      type: 'mcp.tools.merge',
      connector: 'mcp',
      effect: 'write',
      effects: ['merge'],
    } as const
    expect(effectsOf(declared)).toEqual(['merge'])
  })

  test('a table that names a class that does not exist, or an action twice, does not load', () => {
    expect(() => readEffects('# Why.\n merg pr.merge')).toThrow('has the unknown class "merg"')
    expect(() => readEffects('# Why.\n merge pr.merge\n delete pr.{close,merge}')).toThrow(
      'pr.merge more than once',
    )
  })
})

describe('effect classes that a Connector declares', () => {
  const actions: ConnectorEntry['actions'] = [
    {
      method: 'POST',
      path: '/ship/{id}',
      action: 'generic.order.ship',
      effect: 'write',
      risk: 'low',
      effects: ['money_out'],
    },
    { method: 'POST', path: '/note/{id}', action: 'generic.order.note', effect: 'write', risk: 'low' },
  ]
  const bound = boundOf('generic', { domains: ['shop.test'], actions })
  const classes = (path: string) => {
    const raw = rawOf({ method: 'POST', target: path, headers: [] }, 'shop.test')
    const named = nameRequest(bound, raw)
    return named.kind === 'actions' ? named.actions.map(effectsOf) : named.kind
  }

  test('are those of its own action; an action without declared classes has none', () => {
    expect(classes('/ship/7')).toEqual([['money_out']])
    expect(classes('/note/7')).toEqual([[]])
  })
})
