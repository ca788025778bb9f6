import { describe, expect, test } from 'vitest'
import type { Action, RiskLevel } from '../../../core/action/action.ts'
import { scoreRisk } from '../../../core/action/risk.ts'
import fc from '../../support/fast-check.ts'

function action(risk: RiskLevel, riskHints: Record<string, boolean> = {}, environment?: string): Action {
  const resource = environment === undefined ? { provider: 'x' } : { provider: 'x', environment }
  return { type: 'x.y.z', connector: 'x', effect: 'write', risk, resource, parameters: {}, riskHints }
}

function sumOf(factors: readonly string[]): number {
  return factors.reduce((sum, factor) => sum + Number(/[+-][\d.]+$/.exec(factor)?.[0]), 0)
}

describe('risk', () => {
  test.each([
    ['low', 0.2],
    ['medium', 0.5],
    ['high', 0.8],
  ] as const)('%s risk starts at %d', (level, score) => {
    expect(scoreRisk(action(level))).toEqual({ score, factors: [`${level} risk +${score}`] })
  })

  test('the production hint and a production environment are one factor', () => {
    const both = action('medium', { production_target: true }, 'production')
    expect(scoreRisk(both, true)).toEqual({
      score: 0.6,
      factors: ['medium risk +0.5', 'production +0.1'],
    })
    expect(scoreRisk(action('medium'), true).score).toBe(0.6)
    expect(scoreRisk(action('medium', { production_target: false }, 'production')).score).toBe(0.6)
  })

  test('is capped at 1, and the cap is listed as a factor', () => {
    const worst = action('high', { irreversible: true, financial_impact: true, production_target: true })
    expect(scoreRisk(worst)).toEqual({
      score: 1,
      factors: [
        'high risk +0.8',
        'irreversible +0.15',
        'production +0.1',
        'financial impact +0.1',
        'cap -0.15',
      ],
    })
  })

  test('unknown hints have no effect', () => {
    expect(scoreRisk(action('low', { scary: true })).score).toBe(0.2)
  })

  test('the factors always sum to the score', () => {
    const hints = fc.record({
      irreversible: fc.boolean(),
      financial_impact: fc.boolean(),
      production_target: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.constantFrom('low', 'medium', 'high'), hints, (level: RiskLevel, riskHints) => {
        const { score, factors } = scoreRisk(action(level, riskHints))
        expect(sumOf(factors)).toBeCloseTo(score, 10)
        expect(score).toBeLessThanOrEqual(1)
      }),
    )
  })
})
