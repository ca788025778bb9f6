import type { Parameters } from '../../../action/action.ts'
import { type FieldRule, valuesOf } from './field-rule.ts'

/**
 * Parameters that move money or credit to another account. A request may add brackets (`transfer_data[destination]`).
 */
export const MONEY_FIELDS = ['balance', 'transfer_data', 'on_behalf_of'] as const

/** Secret properties of a resource. A response contains them only if the request lists them in `expand`. */
const SECRET = /(^|\.)(number|cvc|pin|payload|client_secret|secret)$/i

export const PAYMENTS_FIELDS: readonly FieldRule[] = [
  {
    actions: [],
    effects: ['money_out'],
    reason: '`balance`, `transfer_data` or `on_behalf_of` is given.',
    applies: hasMoneyField,
  },
  {
    actions: [],
    effects: ['credential_out'],
    reason: '`expand` names card data or a secret (`number`, `cvc`, `payload`).',
    applies: expandsSecret,
  },
]

export function hasMoneyField(parameters: Parameters): boolean {
  return Object.keys(parameters).some((name) => MONEY_FIELDS.some((field) => name.split('[')[0] === field))
}

export function expandsSecret(parameters: Parameters): boolean {
  return Object.entries(parameters).some(
    ([name, value]) =>
      name.split('[')[0] === 'expand' && valuesOf(value).some((path) => SECRET.test(String(path).trim())),
  )
}
