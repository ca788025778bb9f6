import { UntrustedText } from '../text/untrusted-text.tsx'

/**
 * Shows an action type, such as `codehost.pr.merge`, with its connector dimmed. The text is untrusted, because agents
 * can choose parts of an action type, such as tool names.
 */
export function ActionName({
  type,
  isLarge = false,
}: {
  readonly type: string | null
  readonly isLarge?: boolean
}) {
  if (type === null) return <span className="action-name action-none">no action</span>
  const dot = type.indexOf('.')
  const [connector, name] = dot === -1 ? ['', type] : [type.slice(0, dot + 1), type.slice(dot + 1)]
  return (
    <span className={isLarge ? 'action-name action-large' : 'action-name'}>
      <span className="action-connector">
        <UntrustedText text={connector} />
      </span>
      <UntrustedText text={name} />
    </span>
  )
}
