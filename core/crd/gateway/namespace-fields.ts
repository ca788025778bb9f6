import * as z from 'zod'
import { described } from '../described.ts'
import { boundedMap, dns1123 } from '../fields.ts'

const labelKey = z
  .string()
  .min(1)
  .max(317)
  .regex(/^([a-z0-9.-]+\/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/, 'a label such as example.com/team')
const labelValue = z.string().max(63)

/** Label selector as in Kubernetes: all requirements must match. */
export const LabelSelector = z.strictObject({
  matchLabels: described(
    boundedMap(labelValue, 64).default({}),
    'Labels that a namespace must have, with their values.',
    { team: 'payments' },
  ),
  matchExpressions: described(
    z
      .array(
        z.strictObject({
          key: described(labelKey, 'Key of the label.', 'team'),
          operator: described(
            z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
            'Comparison of the label with `values`.',
            'In',
          ),
          values: described(
            z.array(labelValue).max(256).default([]),
            'Values of the operators `In` and `NotIn`. The other operators have none.',
            ['payments', 'billing'],
          ),
        }),
      )
      .max(64)
      .default([]),
    'Requirements on labels, all of which must hold.',
    [{ key: 'team', operator: 'In', values: ['payments'] }],
  ),
})

/** Namespaces that a Gateway admits besides its own: none (`Same`), all (`All`), or the selected ones (`Selector`). */
export const AdmittedNamespaces = z.strictObject(
  {
    from: described(
      z.enum(['Same', 'All', 'Selector']).default('Same'),
      '`Same`: only the namespace of the Gateway. `All`: every namespace. `Selector`: also namespaces whose labels match `selector` or whose name is in `names`.',
      'Selector',
    ),
    selector: described(
      LabelSelector.optional(),
      'Labels of the namespaces that are admitted. Only for `from: Selector`.',
      {
        matchLabels: { team: 'payments' },
      },
    ),
    names: described(
      z.array(dns1123).max(4_096).default([]),
      'Names of the namespaces that are admitted. Only for `from: Selector`.',
      ['payments'],
    ),
  },
  {
    error: ({ input }) =>
      Array.isArray(input)
        ? 'must not be a list; use {from: Selector, names: [...]}, or run chaperone migrate'
        : undefined,
  },
)

/** Namespaces that this Gateway admits, by the kind of the referencing object. */
export const AllowedNamespaces = z.strictObject({
  permissions: described(AdmittedNamespaces.prefault({}), 'Namespaces of Permissions.'),
  policies: described(AdmittedNamespaces.prefault({}), 'Namespaces of Policies.'),
  connectors: described(
    AdmittedNamespaces.prefault({}),
    'Namespaces whose Connectors, with their credentials, the Gateway may use.',
  ),
  agents: described(AdmittedNamespaces.prefault({}), 'Namespaces of pods that the Gateway governs.'),
})

export type LabelSelector = z.infer<typeof LabelSelector>
export type AdmittedNamespaces = z.infer<typeof AdmittedNamespaces>
export type AllowedNamespaces = z.infer<typeof AllowedNamespaces>
