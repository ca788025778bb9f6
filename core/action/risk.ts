import type { Action, RiskLevel } from './action.ts'
import { fold } from './pattern.ts'

/** Risk of an action. `score` is between 0 and 1 with two decimals; the amounts in `factors` add up to the score. */
export type Risk = { readonly score: number; readonly factors: readonly string[] }

/**
 * Minimum score of a high-risk action. The enforcement level `enforce_high_risk` and the lease treat high-risk actions
 * more strictly than others.
 */
export const HIGH_RISK_SCORE = 0.8

/** Base risk in hundredths, because floating-point sums such as 0.1 + 0.2 are inexact. */
const BASE: Readonly<Record<RiskLevel, number>> = { low: 20, medium: 50, high: 80 }
const IRREVERSIBLE = 15
const PRODUCTION = 10
const FINANCIAL = 10

/**
 * Computes the base risk of the action plus the risk factors of this request. `isProduction`: the action affects
 * production, according to the installation or to the caller.
 */
export function scoreRisk(action: Action, isProduction = isProductionAction(action)): Risk {
  const base = BASE[action.risk] ?? BASE.high
  const factors = [factor(`${action.risk} risk`, base)]
  let total = base
  const add = (name: string, amount: number, applies: boolean): void => {
    if (!applies) return
    total += amount
    factors.push(factor(name, amount))
  }
  add('irreversible', IRREVERSIBLE, action.riskHints['irreversible'] === true)
  add('production', PRODUCTION, isProduction)
  add('financial impact', FINANCIAL, action.riskHints['financial_impact'] === true)
  if (total > 100) factors.push(`cap -${(total - 100) / 100}`)
  return { score: Math.min(total, 100) / 100, factors }
}

/** Reports whether the environment is production. Environment names are compared without case. */
export function isProductionEnvironment(environment: string | undefined): boolean {
  return environment !== undefined && fold(environment) === 'production'
}

/** Reports whether the action itself claims to affect production. */
export function isProductionAction({ riskHints, resource }: Action): boolean {
  return riskHints['production_target'] === true || isProductionEnvironment(resource.environment)
}

function factor(name: string, hundredths: number): string {
  return `${name} +${hundredths / 100}`
}
