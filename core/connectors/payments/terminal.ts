/** Catalogue rows for card readers (terminals). */
export const TERMINAL = `
  GET    /v1/terminal/configurations                      terminal_configuration.list            read  low
  POST   /v1/terminal/configurations                      terminal_configuration.create          write medium
  GET    /v1/terminal/configurations/{id}                 terminal_configuration.get             read  low
  POST   /v1/terminal/configurations/{id}                 terminal_configuration.update          write medium
  DELETE /v1/terminal/configurations/{id}                 terminal_configuration.delete          write high
  POST   /v1/terminal/connection_tokens                   terminal_connection_token.create       write high
  GET    /v1/terminal/locations                           terminal_location.list                 read  low
  POST   /v1/terminal/locations                           terminal_location.create               write medium
  GET    /v1/terminal/locations/{id}                      terminal_location.get                  read  low
  POST   /v1/terminal/locations/{id}                      terminal_location.update               write medium
  DELETE /v1/terminal/locations/{id}                      terminal_location.delete               write high
  POST   /v1/terminal/onboarding_links                    terminal_onboarding_link.create        write medium
  GET    /v1/terminal/readers                             terminal_reader.list                   read  low
  POST   /v1/terminal/readers                             terminal_reader.create                 write medium
  GET    /v1/terminal/readers/{id}                        terminal_reader.get                    read  low
  POST   /v1/terminal/readers/{id}                        terminal_reader.update                 write medium
  DELETE /v1/terminal/readers/{id}                        terminal_reader.delete                 write high
  POST   /v1/terminal/readers/{id}/cancel_action          terminal_reader.cancel_action          write medium
  POST   /v1/terminal/readers/{id}/collect_inputs         terminal_reader.collect_inputs         write low
  POST   /v1/terminal/readers/{id}/collect_payment_method terminal_reader.collect_payment_method write medium
  POST   /v1/terminal/readers/{id}/confirm_payment_intent terminal_reader.confirm_payment_intent write high   payment_intent +financial_impact
  POST   /v1/terminal/readers/{id}/process_payment_intent terminal_reader.process_payment_intent write high   payment_intent +financial_impact
  POST   /v1/terminal/readers/{id}/process_setup_intent   terminal_reader.process_setup_intent   write medium
  POST   /v1/terminal/readers/{id}/refund_payment         terminal_reader.refund_payment         write high   amount,charge,payment_intent +financial_impact
  POST   /v1/terminal/readers/{id}/set_reader_display     terminal_reader.set_reader_display     write medium
`
