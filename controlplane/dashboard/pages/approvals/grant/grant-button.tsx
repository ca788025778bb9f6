import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'
import { GrantDialog } from '../../../lazy-dialogs.ts'

type Props = { readonly card: ApprovalCard; readonly onAnswered: (approved: boolean) => void }

/**
 * Renders the button that approves the request with a grant. The grant also covers later requests. If no grant is
 * possible, shows the reason instead.
 */
export function GrantButton({ card, onAnswered }: Props) {
  const [isOpen, { open, close }] = useDisclosure(false)
  const [wasOpened, setWasOpened] = useState(false)
  const obstacle = card.grant?.obstacle
  if (obstacle === undefined) return null
  if (obstacle !== null)
    return (
      <Text size="sm" c="dimmed">
        No grant: {obstacle}
      </Text>
    )
  const show = () => {
    setWasOpened(true)
    open()
  }
  return (
    <>
      <Button variant="subtle" size="compact-sm" onClick={show}>
        Grant for a time …
      </Button>
      {wasOpened ? (
        <GrantDialog card={card} isOpen={isOpen} onClose={close} onAnswered={() => onAnswered(true)} />
      ) : null}
    </>
  )
}
