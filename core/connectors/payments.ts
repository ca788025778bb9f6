import type { Action, Parameters } from '../action/action.ts'
import { isRefusal } from '../request/canonical.ts'
import type { Classification, Connector } from './connector.ts'
import { injectAuth } from './credentials/credentials.ts'
import { PAYMENTS_IDENTITY } from './credentials/identity-reads.ts'
import { executeAddress, ownedDomains } from './domains.ts'
import { expandsSecret, hasMoneyField, MONEY_CONTAINERS, MONEY_FIELDS } from './effects/fields/payments.ts'
import { executeByRows } from './execute/to-request.ts'
import { actionsBy } from './named-action.ts'
import { once } from './once.ts'
import { ACCOUNTS } from './payments/accounts.ts'
import { BILLING } from './payments/billing.ts'
import { ISSUING } from './payments/issuing.ts'
import { PAYMENT_OBJECTS } from './payments/payment-objects.ts'
import { PAYMENTS } from './payments/rows.ts'
import { TERMINAL } from './payments/terminal.ts'
import { TEST_MODE } from './payments/test-mode.ts'
import { TREASURY } from './payments/treasury.ts'
import { PAYMENTS_ERROR } from './provider-error.ts'
import { prefixedSurface } from './rows/prefixed-surface.ts'
import { parseByRows, type RowClassifier, rowKeys, rowsAreOpaque } from './rows/row-connector.ts'
import { readRows } from './rows/row-table.ts'
import { compileRows } from './rows/row-trie.ts'

const TABLES = [PAYMENTS, PAYMENT_OBJECTS, BILLING, ACCOUNTS, ISSUING, TREASURY, TERMINAL, TEST_MODE]

const rows = once(() => readRows('payments', TABLES))
const trie = once(() => compileRows(rows()))

const DOMAINS = ['api.stripe.com', 'files.stripe.com', 'connect.stripe.com', 'meter-events.stripe.com']

const CLASSIFIER: RowClassifier = {
  connector: 'payments',
  formats: new Set(['json', 'form']),
  ...prefixedSurface(trie, 'v1'),
  further: ['expand', ...MONEY_FIELDS, ...MONEY_CONTAINERS],
  resource: paidObject,
}

/**
 * Sets high risk on an action whose parameters request secret properties in the response. Sets the hint
 * `financial_impact` on an action that moves money to another account.
 */
function withFields(named: Classification): Classification {
  if (isRefusal(named)) return named
  return named.kind === 'actions'
    ? { ...named, actions: named.actions.map(withField) }
    : { ...named, candidates: named.candidates.map(withField) }
}

function withField(action: Action): Action {
  const { parameters, riskHints } = action
  const risk = expandsSecret(parameters) ? 'high' : action.risk
  if (!hasMoneyField(parameters)) return risk === action.risk ? action : { ...action, risk }
  return { ...action, risk, riskHints: { ...riskHints, financial_impact: true } }
}

function paidObject({ id, customer, charge, payment_intent }: Parameters): {
  target?: string
  account?: string
} {
  const target = id ?? charge ?? payment_intent ?? customer
  return {
    ...(typeof target === 'string' ? { target } : {}),
    ...(typeof customer === 'string' ? { account: customer } : {}),
  }
}

/**
 * Connector type of the payment provider (Stripe). Requests are forms with bracket keys. An operation has the same
 * action name at its current and at its older addresses.
 */
export const payments: Connector<'payments'> = {
  name: 'payments',
  label: { title: 'Stripe (payments)', credential: 'Secret key' },
  providerError: PAYMENTS_ERROR,
  domains: (config) => ownedDomains(config, DOMAINS),
  parseAction: (request, body, config) => withFields(parseByRows(CLASSIFIER, request, body, config)),
  decidingKeys: (request, config) => rowKeys(CLASSIFIER, request, config),
  hasOpaqueBody: (request, config) => rowsAreOpaque(CLASSIFIER, request, config),
  injectCredentials: (edit, secret, auth) => injectAuth(edit, secret, auth),
  // The provider's browser library sends its key as `key`, in the query and in forms.
  carriers: {
    headers: [],
    query: ['key', '_stripe_key'],
    documentedQuery: ['key', '_stripe_key'],
    bodyFields: ['key'],
  },
  defaultAuth: { type: 'bearer' },
  readsBrackets: true,
  get catalogue() {
    return rows()
  },
  prepare: () => void trie(),
  identityRead: PAYMENTS_IDENTITY,
  impliedActions: (action) => actionsBy(action, withFields),
  toRequest: (spec, config) =>
    executeByRows(rows(), spec, {
      ...executeAddress(config, 'api.stripe.com', 'v1'),
      format: jsonOnly().has(spec.type) ? 'json' : 'form',
    }),
}

/**
 * Actions that exist only in the second generation of the API (`/v2/`), whose bodies are JSON. An action of both
 * generations is sent to the first generation.
 */
const jsonOnly = once(
  () =>
    new Set(
      [...Map.groupBy(rows(), (row) => row.type)]
        .filter(([, rows]) => rows.every((row) => row.template.startsWith('/v2/')))
        .map(([type]) => type),
    ),
)
