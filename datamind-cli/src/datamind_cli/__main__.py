from datamind_cli.main import main

main()
