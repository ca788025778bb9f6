/** The built-in agent of the demo actions: no key, no credential, nobody can be it. */
export const DEMO_AGENT = {
  name: 'chaperone-demo',
  runtime: 'built-in',
  environment: 'development',
  managedBy: 'demo-action',
} as const

export function isDemoAgent(row: { readonly source: string; readonly managedBy: string | null }): boolean {
  return row.source === 'api' && row.managedBy === DEMO_AGENT.managedBy
}
