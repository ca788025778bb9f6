import type { ReactNode } from 'react'

export type Fact = readonly [label: string, value: ReactNode]

/** Renders facts as a definition list. Facts without a value are omitted. */
export function FactList({ facts }: { readonly facts: readonly Fact[] }) {
  const shown = facts.filter(([, value]) => value !== null && value !== undefined && value !== '')
  return (
    <dl className="facts">
      {shown.map(([label, value]) => (
        <div key={label} className="fact">
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
