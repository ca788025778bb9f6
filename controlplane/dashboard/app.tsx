import { MantineProvider } from '@mantine/core'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { keepDialogFocus } from './frame/keep-dialog-focus.ts'
import { Root } from './root.tsx'
import { styleNonce } from './style-nonce.ts'
import { cssVariables, theme } from './theme.ts'

const nonce = styleNonce()
// Provides the nonce of the content security policy to react-remove-scroll, a dependency of Mantine. This library reads
// the nonce from the global variable `__webpack_nonce__`.
Object.assign(globalThis, { __webpack_nonce__: nonce })

keepDialogFocus(document)

createRoot(document.getElementById('app') ?? document.body).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <Root />
    </MantineProvider>
  </StrictMode>,
)
