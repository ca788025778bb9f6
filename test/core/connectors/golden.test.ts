import { describe, expect, test } from 'vitest'
import { canonicalTarget } from '../../../core/connectors/binding/canonical-target.ts'
import { effectDetails, effectsOf } from '../../../core/connectors/effects/effects.ts'
import { actionsOf } from '../../../core/connectors/named-action.ts'
import { canonicalResource } from '../../../core/connectors/names.ts'
import { nameRulesOf } from '../../../core/connectors/registry.ts'
import { boundOf, type GoldenCase, nameRequest, rawOf, readCorpus, USUAL_HOST } from './golden.ts'

/** What a case says, in the shape of its expectation. */
function observe(golden: GoldenCase): Record<string, unknown> {
  const raw = rawOf(golden.request, USUAL_HOST[golden.connector])
  const named = nameRequest(boundOf(golden.connector), raw, golden.request.body)
  if (named.kind === 'refusal') return { refusal: named.code }
  const all = actionsOf(named)
  const possible = all.filter(({ isPossible }) => isPossible === true).map(({ type }) => type)
  const certain = all.filter(({ isPossible }) => isPossible !== true)
  const types = certain.map(({ type }) => type)
  // A look-up settles possible effect classes, so no request has them for certain.
  const known = certain.map(({ possibleEffects: _possible, ...action }) => action)
  const effects = [...new Set(known.flatMap((action) => effectsOf(action) ?? []))]
  if (named.kind === 'candidates') return { candidates: types, possible, effects }
  const [first] = certain
  if (certain.length !== 1 || first === undefined) {
    const details = known.map((action) => ({
      target: canonicalTarget(action.connector, action.resource) ?? null,
      ...effectDetails(action),
    }))
    return { actions: types, details, possible, effects }
  }
  const { risk, effect, parameters } = first
  const canonical = canonicalResource(nameRulesOf(first.connector), first.resource).target
  const { target } = first.resource
  return { action: first.type, possible, effects, risk, effect, parameters, target, canonical }
}

describe('the golden corpus: every request has the one right name, or is refused for the one right reason', () => {
  for (const { file, cases } of readCorpus()) {
    describe(file, () => {
      for (const golden of cases) {
        test(golden.name, () => {
          const { effects, details, unanswered: _unanswered, ...wanted } = golden.expect
          const observed = observe(golden)
          expect(observed).toMatchObject(wanted)
          if (details !== undefined) expect(observed['details']).toEqual(details)
          if (effects !== undefined) expect(observed['effects']).toEqual(expect.arrayContaining([...effects]))
        })
      }
    })
  }

  test('holds several hundred cases, so that an emptied folder is noticed', () => {
    const total = readCorpus().reduce((sum, { cases }) => sum + cases.length, 0)
    expect(total).toBeGreaterThan(400)
  })
})
