import type { Parameters } from '../../../action/action.ts'
import { isRecord } from '../../fields/fields.ts'
import { type FieldRule, valuesOf } from './field-rule.ts'

/**
 * Parameters that move money or credit to another account. A request may add brackets (`transfer_data[destination]`).
 */
export const MONEY_FIELDS = ['balance', 'transfer_data', 'on_behalf_of'] as const

/** Parameters that may contain `MONEY_FIELDS` as members (`payment_intent_data[transfer_data][destination]`). */
export const MONEY_CONTAINERS = [
  ...['payment_intent_data', 'subscription_data', 'setup_intent_data', 'default_settings', 'phases'],
] as const

/** Secret properties of a resource. A response contains them only if the request lists them in `expand`. */
const SECRET = /(^|\.)(number|account_number|cvc|pin|payload|client_secret|secret)$/i

/**
 * Parameters of a customer that give a discount, or that start a subscription in old versions of the API, which a
 * request selects with `Stripe-Version`.
 */
const CUSTOMER_FIELDS = ['coupon', 'promotion_code', 'plan'] as const

export const PAYMENTS_FIELDS: readonly FieldRule[] = [
  {
    actions: ['customer.create', 'customer.update'],
    effects: ['money_out'],
    reason: '`coupon` or `promotion_code` gives a discount, or `plan` starts a subscription.',
    applies: (parameters) =>
      Object.keys(parameters).some((name) => CUSTOMER_FIELDS.some((field) => field === name.split('[')[0])),
  },
  {
    actions: [],
    effects: ['money_out'],
    reason:
      '`balance`, `transfer_data` or `on_behalf_of` is given, so money or credit can leave the account.',
    applies: hasMoneyField,
  },
  {
    actions: [],
    effects: ['credential_out'],
    reason:
      '`expand` names card data or a secret (`number`, `cvc`, `payload`), which the response then contains.',
    applies: expandsSecret,
  },
]

export function hasMoneyField(parameters: Parameters): boolean {
  return Object.entries(parameters).some(
    ([name, value]) =>
      name.split(/[[\]]+/).some(isMoneyField) || (isContainer(name) && holdsMoneyField(value)),
  )
}

function isMoneyField(name: string): boolean {
  return MONEY_FIELDS.some((field) => field === name)
}

function isContainer(name: string): boolean {
  return MONEY_CONTAINERS.some((container) => container === name)
}

/** Reports whether the JSON value of a parameter has a member of `MONEY_FIELDS`. */
function holdsMoneyField(value: unknown): boolean {
  return valuesOf(value).some((one) => isRecord(one) && Object.keys(one).some(isMoneyField))
}

export function expandsSecret(parameters: Parameters): boolean {
  return Object.entries(parameters).some(
    ([name, value]) =>
      name.split('[')[0] === 'expand' && valuesOf(value).some((path) => SECRET.test(String(path).trim())),
  )
}
