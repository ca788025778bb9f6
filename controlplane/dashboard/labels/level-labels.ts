import type { EnforcementLevel } from '../../../core/wire/gateways.ts'

export const LEVEL_LABELS: Readonly<
  Record<EnforcementLevel, { readonly title: string; readonly description: string }>
> = {
  monitor: {
    title: 'Monitor',
    description: 'Nothing is refused or held. Decisions are only recorded.',
  },
  enforce_high_risk: {
    title: 'Enforce high risk',
    description:
      'Decisions about high-risk actions, and denials by a policy, are enforced. All other decisions are only recorded.',
  },
  full_enforce: {
    title: 'Full enforcement',
    description: 'Every decision is enforced: actions that are not allowed are refused or held.',
  },
}
