import Stripe from 'stripe'
import { report } from './report.mjs'

// stripe-node has its own agent and reads no proxy variable: its documented option for environments like this one
// is the fetch client, which honours the Node variables.
const stripe = new Stripe(process.env.STRIPE_API_KEY, {
  httpClient: Stripe.createFetchHttpClient(),
  maxNetworkRetries: 0,
  telemetry: false,
})
await report({
  allowed: async () => (await stripe.customers.create({ email: 'a@example.com' })).id,
  denied: async () => (await stripe.payouts.create({ amount: 100, currency: 'eur' })).id,
  held: async () => (await stripe.refunds.create({ charge: 'ch_1' })).id,
})
