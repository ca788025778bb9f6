import type { Level } from '../api/shapes.ts'

/** Enforcement levels in plain words. */
export const LEVEL_LABELS: Readonly<Record<Level, { readonly title: string; readonly means: string }>> = {
  monitor: {
    title: 'Monitor',
    means: 'Everything passes; what would be refused or held is only recorded.',
  },
  enforce_high_risk: {
    title: 'Enforce high risk',
    means: 'High-risk and policy-denied actions are refused or held; the rest is recorded.',
  },
  full_enforce: {
    title: 'Full enforcement',
    means: 'Every rule applies: what is not allowed is refused or held.',
  },
}
