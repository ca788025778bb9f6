import { fold } from '../../action/pattern.ts'
import { isProductionEnvironment } from '../../action/risk.ts'
import type { DecisionInput } from '../decision.ts'

/**
 * Input of a decision with one resolved environment (lower case). Scopes, facts and risk must use this environment,
 * because `action` and `connector` contain the environments that the caller or the configuration stated.
 */
export type PlacedInput = DecisionInput & { readonly environment: string; readonly isProduction: boolean }

/**
 * Returns the inputs that one decision covers. The first input has the environment of the installation: the
 * connector's, else the gateway's, else the agent's. The caller may claim another environment by
 * `resource.environment` or the hint `production_target`. The inputs with claimed environments follow, and the
 * strictest decision applies.
 */
export function placedInputs(input: DecisionInput): readonly PlacedInput[] {
  const { action } = input
  const environment = fold(installedEnvironment(input))
  const claimed = fold(action.resource.environment ?? environment)
  const isProduction = isProductionEnvironment(environment)
  const isClaimed =
    isProduction || isProductionEnvironment(claimed) || action.riskHints['production_target'] === true
  const installed: PlacedInput = { ...input, environment, isProduction }
  if (claimed === environment && isClaimed === isProduction) return [installed]
  const hinted = isClaimed === isProduction ? [] : [{ ...installed, isProduction: isClaimed }]
  const other =
    claimed === environment ? [] : [{ ...installed, environment: claimed, isProduction: isClaimed }]
  return [installed, ...hinted, ...other]
}

/** Returns the environment for records and approval cards: the one that the action states, else the installation's. */
export function shownEnvironment(input: DecisionInput): string {
  return input.action.resource.environment ?? installedEnvironment(input)
}

/** Returns the environment of the connector, else that of the gateway, else that of the agent. */
function installedEnvironment({ agent, connector, gateway }: DecisionInput): string {
  return connector?.environment ?? gateway?.environment ?? agent.environment
}
