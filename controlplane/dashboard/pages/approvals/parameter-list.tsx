import { Text } from '@mantine/core'
import { UntrustedText } from '../../parts/untrusted-text.tsx'

/** Above this a value gets a box of its own with a scroll bar. */
const SHORT = 120

/** Every parameter of the canonical request, complete. Names and values are the agent's. */
export function ParameterList({ parameters }: { readonly parameters: Readonly<Record<string, unknown>> }) {
  const entries = Object.entries(parameters)
  if (entries.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        It has no parameters.
      </Text>
    )
  }
  return (
    <section aria-label="Parameters" className="parameters">
      <dl className="facts">
        {entries.map(([name, value]) => (
          <div key={name} className="fact">
            <dt className="mono">
              <UntrustedText text={name} />
            </dt>
            <dd className="mono">
              <Value name={name} value={value} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function Value({ name, value }: { readonly name: string; readonly value: unknown }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  const isShort = text.length <= SHORT && !text.includes('\n')
  return <UntrustedText text={text} isBlock={!isShort} label={`Parameter ${name.slice(0, 60)}`} />
}
